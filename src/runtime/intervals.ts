/** The same result for everybody who asks within a time: what is dear is not made more often, however many ask. */
export function atMostEvery<T>(ms: number, make: () => Promise<T>): () => Promise<T> {
  let latest: Promise<T> | undefined;
  return () => {
    if (!latest) {
      latest = make();
      const forget = () => {
        latest = undefined;
      };
      // Counted from when it is there; a failure is nobody's result.
      latest.then(() => setTimeout(forget, ms).unref(), forget);
    }
    return latest;
  };
}
