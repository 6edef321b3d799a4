import { appendFileSync, mkdirSync } from 'node:fs';
import { loadavg } from 'node:os';
import { dirname } from 'node:path';
import { provenance } from './provenance.js';

/** One result as one line, appended to `file`. */
export function record(file, result) {
  mkdirSync(dirname(file), { recursive: true });
  const line = { date: new Date().toISOString(), ...result, load: loadavg()[0], ...provenance };
  appendFileSync(file, `${JSON.stringify(line)}\n`);
}

/**
 * Prints the rows of one cell: each figure with its ratio to the first peer's where that says something.
 * @param {{ key: string, title: string, digits?: number, ratio?: boolean }[]} columns
 * @param {{ peer: string, result?: object, note?: string }[]} rows
 */
export function printTable(columns, rows) {
  const [reference] = rows;
  const lines = [['', ...columns.map(({ title }) => title), '']];
  for (const { peer, result, note } of rows) {
    const cells = columns.map((column) => (result ? figure(column, result, reference.result) : '–'));
    lines.push([peer, ...cells, note ?? '']);
  }
  const widths = lines[0].map((_, i) => Math.max(...lines.map((line) => line[i].length)));
  for (const line of lines) {
    const padded = line.map((cell, i) =>
      i === 0 || i === line.length - 1 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]),
    );
    console.log(`  ${padded.join('  ')}`.trimEnd());
  }
}

function figure({ key, digits = 1, ratio = false }, result, reference) {
  const value = result[key];
  if (value === undefined || Number.isNaN(value)) return '–';
  const text = value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
  if (!ratio || !reference?.[key]) return text;
  return `${text} (${(value / reference[key]).toPrecision(2)})`;
}
