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

/**
 * All results of a benchmark in one table: a row for each cell and peer, with the spread of each figure and, where a column
 * has ratios, how many times ours it is. Figures published for the same cell stand below it, also where nobody has measured it.
 * @param {{ key: string, title: string, digits?: number, ratio?: boolean }[]} columns
 * @param {ReturnType<import('./groups.js').cellsOf>} cells
 * @param {(parameters: object) => { name: string, result: object }[]} [published]
 */
export function benchmarkTable(columns, cells, published = () => []) {
  const isPresent = ({ groups, parameters }, key) =>
    groups.some((group) => spread(group, key)) || published(parameters).some(({ result }) => result[key] !== undefined);
  const present = columns.filter(({ key }) => cells.some((cell) => isPresent(cell, key)));
  const withRatios = (textOf, ratioOf = () => '–') =>
    present.flatMap((column) => (column.ratio ? [textOf(column), ratioOf(column)] : [textOf(column)]));
  const rows = cells.flatMap(({ label, parameters, groups }) => {
    const measured = groups.map((group) => {
      const figures = withRatios(
        (column) => figure(group, column),
        (column) => times(ratio(group, reference(group, groups), column)),
      );
      return [group.peer, ...figures, runsOf(group), group.notes.join('; ')];
    });
    const others = published(parameters).map(({ name, result }) => {
      const known = ({ key }) => (result[key] === undefined ? '–' : `*${result[key].toLocaleString('en-US')}*`);
      return [`*${name}*`, ...withRatios(known), '–', groups.length === 0 ? 'not measured here' : ''];
    });
    return [...measured, ...others].map((row, i) => [i === 0 ? label : '', ...row]);
  });
  const titles = withRatios(
    ({ title }) => title,
    () => '×',
  );
  return markdownTable(['cell', '', ...titles, 'runs', ''], rows, 2);
}

/** The median, and behind it the extremes. What counts for nothing is struck out. */
function figure(group, { key, digits = 1 }) {
  const found = spread(group, key);
  if (found === undefined) return '–';
  const [median, low, high] = [found.median, found.min, found.max].map((value) => shown(value, digits));
  if (!group.valid) return `~~${median}~~`;
  return low === high ? low : `${median} (${low}–${high})`;
}

function runsOf({ runs, results }) {
  if (results.length === 0) return '–';
  return runs < ENOUGH_RUNS ? `${runs} †` : String(runs);
}
