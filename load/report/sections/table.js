import { ENOUGH_RUNS, ratio, reference, spread } from '../results/groups.js';

/** Three digits where the figure is small, none behind the point where it is large. */
export function shown(value, digits) {
  if (digits === undefined) return value >= 100 ? grouped(Math.round(value)) : String(Number(value.toPrecision(2)));
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

const grouped = (value) => value.toLocaleString('en-US');

export const times = (value) => (value === undefined ? '–' : `${shown(value)}×`);

/** A table in Markdown, its first column to the left, the others to the right, `left` of the last to the left again. */
export function markdownTable(head, rows, left = 0) {
  const rule = head.map((_, i) => (i === 0 || i >= head.length - left ? '---' : '---:'));
  return [head, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/**
 * All peers of a cell, with the spread of each figure, and, where a column has ratios, how many times ours it is.
 * @param {{ key: string, title: string, digits?: number, ratio?: boolean }[]} columns
 * @param {import('../results/groups.js').Group[]} cell
 * @param {{
 *   published?: { name: string, result: Record<string, number | string> }[], figures that stand below ours
 *   label?: (group: import('../results/groups.js').Group) => string, what a row is called
 * }} [more]
 */
export function cellTable(columns, cell, { published = [], label = ({ peer }) => peer } = {}) {
  const present = columns.filter(({ key }) => cell.some((group) => spread(group, key)));
  const head = [
    '',
    ...present.flatMap(({ title, ratio: compared }) => (compared ? [title, '×'] : [title])),
    'runs',
    '',
  ];
  const rows = cell.map((group) => {
    const figures = present.flatMap((column) => {
      const text = figure(group, column);
      return column.ratio ? [text, times(ratio(group, reference(group, cell), column))] : [text];
    });
    return [label(group), ...figures, runs(group), group.notes.join('; ')];
  });
  for (const { name, result } of published) {
    const figures = present.flatMap(({ key, ratio: compared }) => {
      const text = result[key] === undefined ? '–' : `*${result[key].toLocaleString('en-US')}*`;
      return compared ? [text, '–'] : [text];
    });
    rows.push([`*${name}*`, ...figures, '–', '']);
  }
  return markdownTable(head, rows, 1);
}

/** The median, and behind it the extremes. What counts for nothing is struck out. */
function figure(group, { key, digits = 1 }) {
  const found = spread(group, key);
  if (found === undefined) return '–';
  const { median, min, max } = found;
  if (!group.valid) return `~~${shown(median, digits)}~~`;
  const [low, high] = [shown(min, digits), shown(max, digits)];
  return low === high ? low : `${shown(median, digits)} (${low}–${high})`;
}

function runs({ runs: count, results }) {
  if (results.length === 0) return '–';
  return count < ENOUGH_RUNS ? `${count} †` : String(count);
}
