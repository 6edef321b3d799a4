import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Under version control: the best that there ever was is what the next change is compared with. */
const ratchetFile = fileURLToPath(new URL('../results/ratchet.json', import.meta.url));

/**
 * @typedef {{ ratio: number, commit: string, date: string }} Best a figure's ratio to stock socket.io's of the same run
 * @returns {Record<string, Best>}
 */
export const readRatchet = (file = ratchetFile) => (existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {});

/**
 * The best of what was known and of what was measured now. A ratio of a commit with uncommitted changes is not kept, as
 * nobody could measure it again.
 * @param {Record<string, Best>} known
 * @param {{ name: string, ratio: number, commit: string, date: string }[]} measured
 */
export function tighten(known, measured) {
  const best = { ...known };
  for (const { name, ratio, commit, date } of measured) {
    if (commit.endsWith('-dirty') || !(ratio > 0)) continue;
    if (!(best[name]?.ratio <= ratio)) best[name] = { ratio: Number(ratio.toPrecision(3)), commit, date };
  }
  return best;
}

export function writeRatchet(best, file = ratchetFile) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(best, null, 2)}\n`);
}
