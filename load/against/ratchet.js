import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Under version control: the best that there ever was is what the next change is compared with. */
const ratchetFile = fileURLToPath(new URL('../results/ratchet.json', import.meta.url));

/**
 * Keeps the best ratios to stock socket.io's figures, of what was known and of what was measured now. A ratio of a commit with
 * uncommitted changes is not kept, as nobody could measure it again.
 * @param {{ name: string, ratio: number, commit: string, date: string }[]} measured
 */
export function tightenRatchet(measured, file = ratchetFile) {
  const best = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
  for (const { name, ratio, commit, date } of measured) {
    if (commit.endsWith('-dirty') || !(ratio > 0) || best[name]?.ratio <= ratio) continue;
    best[name] = { ratio: Number(ratio.toPrecision(3)), commit, date };
  }
  writeFileSync(file, `${JSON.stringify(best, null, 2)}\n`);
}
