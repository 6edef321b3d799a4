// The publisher of the benchmark "state". It runs in the server, as a feed of market data would: each value begins with a
// stamp and the number of the change, and the keys take turns.

import { STAMP_LENGTH, stamp } from '../../generator/clock.js';
import { pace } from '../../generator/pace.js';

/**
 * @param {{ keys: number, size: number, changes: number, rounds: number }} settings `changes` keys in each of `rounds` a
 *   second; `size` in bytes of one value
 * @param {(key: string, value: object) => void} set
 */
export function stateSource({ keys, size, changes, rounds }, set) {
  const padding = 'x'.repeat(size - 2 * STAMP_LENGTH - '{"t":"","n":"","p":""}'.length);
  let next = 0;
  let isStarted = false;
  const change = () => {
    const n = String(next + 1).padStart(STAMP_LENGTH, '0');
    set(`key ${next++ % keys}`, { t: stamp(), n, p: padding });
  };
  return {
    /** Sets every key once. */
    fill() {
      for (let key = 0; key < keys; key++) change();
    },
    /** Begins to publish; a second call does nothing. */
    start() {
      if (isStarted) return;
      isStarted = true;
      pace(rounds, () => {
        for (let count = 0; count < changes; count++) change();
      });
    },
  };
}
