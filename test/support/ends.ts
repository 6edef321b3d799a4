import { afterEach } from '@jest/globals';

const ends: (() => unknown)[] = [];

/** Has something done behind the test, however it ends: in the order in which it is given, and what was given last first. */
export function atEnd(...acts: readonly (() => unknown)[]): void {
  ends.push(...acts.toReversed());
}

afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});
