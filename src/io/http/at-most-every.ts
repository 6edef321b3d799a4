/** Makes an expensive result at most once in `ms` milliseconds, however many callers ask for it. */
export function atMostEvery<T>(ms: number, make: () => Promise<T>): () => Promise<T> {
  let latest: Promise<T> | undefined;
  return () => {
    if (!latest) {
      latest = make();
      const forget = () => {
        latest = undefined;
      };
      // The time starts when the result arrives. A failure is not cached.
      latest.then(() => setTimeout(forget, ms).unref(), forget);
    }
    return latest;
  };
}
