import { readFileSync } from 'node:fs';

/** The rows of files that the benchmarks wrote, in their order. Throws where a line is not one. */
export function readRows(files) {
  return files.flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .flatMap((line, i) => (line.trim() === '' ? [] : [parse(line, `${file}:${i + 1}`)])),
  );
}

function parse(line, where) {
  let row;
  try {
    row = JSON.parse(line);
  } catch {
    throw new Error(`${where}: not JSON`);
  }
  for (const field of ['benchmark', 'cell', 'peer', 'date', 'command', 'machine']) {
    if (row?.[field] === undefined)
      throw new Error(`${where}: a result without "${field}"; was it written by an older version?`);
  }
  return row;
}

/**
 * Those rows that the report uses. A quick run counts only where there is no full one of the same cell and peer. A run of
 * changed files counts never, as nobody could measure it again.
 */
export function usedRows(rows) {
  const committed = rows.filter(({ commit }) => !commit?.endsWith('-dirty'));
  const full = new Set(committed.filter(({ quick }) => !quick).map(identity));
  return committed.filter((row) => !row.quick || !full.has(identity(row)));
}

/** What rows that are runs of the same thing have in common. */
export const identity = ({ benchmark, cell, peer }) => JSON.stringify([benchmark, cell, peer]);

/** A row as one line of JSON. Six digits are more than any of these figures deserves. */
export const line = (row) =>
  JSON.stringify(row, (_, value) =>
    Number.isFinite(value) && !Number.isInteger(value) ? Number(value.toPrecision(6)) : value,
  );
