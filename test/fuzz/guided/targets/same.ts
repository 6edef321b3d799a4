/** Compares as JSON: some values come from other realms. @throws Error */
export function expectSame(found: unknown, expected: unknown): void {
  const [one, other] = [JSON.stringify(found), JSON.stringify(expected)];
  if (one !== other) throw new Error(`found ${one?.slice(0, 500)}, and not ${other?.slice(0, 500)}`);
}

/** @returns what a function returns; undefined if it rejects its input as it should. @throws other errors */
export function orRejected<Result>(read: () => Result, isExpected: (error: Error) => boolean): Result | undefined {
  try {
    return read();
  } catch (error) {
    if (isExpected(error as Error)) return undefined;
    throw error;
  }
}

/** Parts of some bytes, of lengths that another list gives. */
export function cut(bytes: Buffer, lengths: readonly number[]): Buffer[] {
  const parts: Buffer[] = [];
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const end = at + 1 + (lengths[turn % lengths.length] ?? 0);
    parts.push(Buffer.from(bytes.subarray(at, end)));
    at = end;
  }
  return parts;
}
