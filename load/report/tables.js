import { ENOUGH_RUNS, ratio, reference, spread } from './groups.js';

/** Three digits where the figure is small, none behind the point where it is large. */
export function shown(value, digits) {
  if (digits === undefined && value < 100) return String(Number(value.toPrecision(2)));
  return value.toLocaleString('en-US', { minimumFractionDigits: digits ?? 0, maximumFractionDigits: digits ?? 0 });
}

export const times = (value) => (value === undefined ? '–' : `${shown(value)}×`);

/** A table in Markdown. The first `left` columns and the last one are text. */
export function markdownTable(head, rows, left = 1) {
  const rule = head.map((_, i) => (i < left || i === head.length - 1 ? '---' : '---:'));
  return [head, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** The groups of a benchmark, by cell. */
export function cellsOf(groups, name) {
  const own = groups.filter(({ benchmark }) => benchmark === name);
  return [...new Set(own.map(({ cell }) => cell))].map((label) => own.filter(({ cell }) => cell === label));
}

/**
 * All results of a benchmark in one table: a row for each cell and peer, with the spread of each figure and, where a column
 * has ratios, how many times ours it is. Figures published for the same cell stand below it.
 * @param {{ key: string, title: string, digits?: number, ratio?: boolean }[]} columns
 * @param {import('./groups.js').Group[][]} cells
 * @param {(parameters: object) => { name: string, result: object }[]} [published]
 */
export function benchmarkTable(columns, cells, published = () => []) {
  const present = columns.filter(({ key }) => cells.flat().some((group) => spread(group, key)));
  const titles = present.flatMap(({ title, ratio: compared }) => (compared ? [title, '×'] : [title]));
  const rows = cells.flatMap((cell) =>
    [
      ...cell.map((group) => [group.peer, ...figuresOf(group, present, cell), runsOf(group), group.notes.join('; ')]),
      ...published(cell[0].parameters).map(({ name, result }) => [`*${name}*`, ...known(result, present), '–', '']),
    ].map((row, i) => [i === 0 ? cell[0].cell : '', ...row]),
  );
  return markdownTable(['cell', '', ...titles, 'runs', ''], rows, 2);
}

function figuresOf(group, columns, cell) {
  return columns.flatMap((column) => {
    const text = figure(group, column);
    return column.ratio ? [text, times(ratio(group, reference(group, cell), column))] : [text];
  });
}

const known = (result, columns) =>
  columns.flatMap(({ key, ratio: compared }) => {
    const text = result[key] === undefined ? '–' : `*${result[key].toLocaleString('en-US')}*`;
    return compared ? [text, '–'] : [text];
  });

/** The median, and behind it the extremes. What counts for nothing is struck out. */
function figure(group, { key, digits = 1 }) {
  const found = spread(group, key);
  if (found === undefined) return '–';
  const { median, min, max } = found;
  if (!group.valid) return `~~${shown(median, digits)}~~`;
  const [low, high] = [shown(min, digits), shown(max, digits)];
  return low === high ? low : `${shown(median, digits)} (${low}–${high})`;
}

function runsOf({ runs, results }) {
  if (results.length === 0) return '–';
  return runs < ENOUGH_RUNS ? `${runs} †` : String(runs);
}
