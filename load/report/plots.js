// A plot for each workload that others have published figures for: ours and theirs, each server in a line of its own.

import { cellsOf, isSaturated, spread } from './groups.js';
import { publishedFor } from './published.js';

/** By benchmark: the figure that is shown, and its axis. A logarithmic one shows no zero. */
const subjects = {
  jitter: { key: 'delivered', label: 'delivered, %' },
  deploy: { key: 'lost', label: 'messages lost by clients' },
  idle: { key: 'serverPerClient', label: 'memory of the process, bytes/client' },
  whispers: { key: 'p99', label: 'p99, ms', type: 'log' },
  nodes: { key: 'average', label: 'average time to a client, ms', type: 'log' },
  correspondence: { key: 'acknowledged', label: 'acknowledged messages/s', type: 'log' },
  marketdata: { key: 'server', label: 'CPU, % of a core' },
  connections: { key: 'serverPerClient', label: 'memory of the process, bytes/client' },
  backpressure: { key: 'deliveries', label: 'deliveries/s to fast clients', type: 'log' },
};

const OURS = 'gjallar';
const OTHERS = 'measured here';
const PUBLISHED = 'published';

/** The lines of a plot: of each cell its name, and each server with its figure. */
function linesOf(name, benchmark, groups) {
  const { key } = subjects[name];
  return cellsOf(groups, name, benchmark).flatMap(({ label, parameters, groups: cell }) => {
    const measured = cell.flatMap((group) => {
      const found = group.valid ? spread(group, key) : undefined;
      const kind = group.peer.includes('gjallar') ? OURS : OTHERS;
      return found ? [{ text: group.peer, kind, isHollow: isSaturated(group), ...found }] : [];
    });
    const published = (publishedFor(name)?.cell(parameters) ?? []).flatMap(({ name: text, result }) => {
      const median = result[key];
      return Number.isFinite(median) ? [{ text, kind: PUBLISHED, median, min: median, max: median }] : [];
    });
    return measured.length > 0 ? [{ text: label, isCell: true }, ...measured, ...published] : [];
  });
}

/** The plot of a benchmark for its chapter, or undefined. @returns {{ file: string, markdown: string } | undefined} */
export function plotOf(name, benchmark, groups) {
  if (!subjects[name] || linesOf(name, benchmark, groups).length === 0) return undefined;
  const file = `benchmarks/${name}.svg`;
  return { file, markdown: `![${subjects[name].label}, of each server in each cell of the table](${file})` };
}

// A picture in a page sees the reader's system setting, not the page: it brings its own ground along.
const style = `svg { color: #1f2328; background: #ffffff; font: 12px system-ui, sans-serif }
@media (prefers-color-scheme: dark) { svg { color: #e6edf3; background: #151b23 } }`;
const colours = { domain: [OURS, OTHERS, PUBLISHED], range: ['#2f81f7', '#d29922', '#8b949e'] };
const ROW = 18;

/** @returns {Promise<string>} the SVG of a benchmark that `plotOf` has one for */
export async function draw(name, benchmark, groups) {
  const [Plot, { parseHTML }] = await Promise.all([import('@observablehq/plot'), import('linkedom')]);
  const { document } = parseHTML('<html></html>');
  const lines = linesOf(name, benchmark, groups).map((line, place) => ({ ...line, place }));
  const [cells, figures] = [true, false].map((isCell) => lines.filter((line) => (line.isCell ?? false) === isCell));
  const { label, type = 'linear' } = subjects[name];
  const beside = { y: 'place', text: 'text', frameAnchor: 'left', textAnchor: 'end', dx: -10 };
  const text = (data, more) => Plot.text(data, { ...beside, textOverflow: 'ellipsis', lineWidth: 22, ...more });
  const shared = { y: 'place', stroke: 'kind' };
  const svg = Plot.plot({
    document,
    ...{ width: 860, height: lines.length * ROW + 70, marginLeft: 320, marginRight: 30, marginBottom: 45 },
    x: { type, label, grid: true, nice: true, ...(type === 'log' ? {} : { zero: true }) },
    y: { domain: lines.map(({ place }) => place), axis: null, type: 'point' },
    color: colours,
    marks: [
      text(cells, { fontWeight: 'bold' }),
      text(figures, {}),
      Plot.link(figures, { ...shared, x1: 'min', x2: 'max', y1: 'place', y2: 'place', strokeWidth: 2 }),
      Plot.dot(figures, { ...shared, x: 'median', r: 4, fill: 'kind', filter: ({ isHollow }) => !isHollow }),
      Plot.dot(figures, { ...shared, x: 'median', r: 4, fill: 'none', filter: 'isHollow' }),
    ],
  });
  svg.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  const title = `${name}: ${label}. Blue is gjallar, yellow other servers measured here, grey what others have published.`;
  const drawn = svg.toString().replace(/<style>[\s\S]*?<\/style>/, `<title>${title}</title><style>${style}</style>`);
  return `${drawn.replace(/\d+\.\d{3,}/g, (number) => String(Number(Number(number).toFixed(2))))}\n`;
}
