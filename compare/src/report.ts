import type { Figures } from './crowd.js';
import type { Comparison } from './differences.js';
import type { CompareOptions } from './options.js';

/** What `gjallar compare --json` prints. A figure that could not be measured is null. */
export interface CompareResult {
  readonly file: string;
  readonly ways: { readonly stock: string; readonly gjallar: string };
  readonly steps: number;
  readonly behaviour: Comparison;
  readonly figures: { readonly stock: Costs | null; readonly gjallar: Costs | null };
  /** The rates of `cores`. */
  readonly messagesPerSecond: number;
  readonly connectsPerSecond: number;
}

export type Costs = Figures & {
  /** Cores that the application would take at the rates. */
  readonly cores: number;
};

/** Of two runs, the smaller figure of each: what else ran on the machine can only have added to it. */
export function leastOf(first: Figures | undefined, second: Figures | undefined): Figures | undefined {
  if (!first || !second) return first ?? second;
  const keys = Object.keys(first) as (keyof Figures)[];
  return Object.fromEntries(
    keys.map((key) => [key, Number.isNaN(first[key]) ? second[key] : Math.min(first[key], second[key] || first[key])]),
  ) as unknown as Figures;
}

export function costsOf(
  figures: Figures | undefined,
  { messagesPerSecond, connectsPerSecond }: CompareOptions,
): Costs | null {
  if (!figures) return null;
  const { cpuPerMessage, cpuPerConnect } = figures;
  const messages = Number.isNaN(cpuPerMessage) ? 0 : cpuPerMessage;
  return { ...figures, cores: (messagesPerSecond * messages + connectsPerSecond * cpuPerConnect) / 1e6 };
}

/** More differences than these are only counted. */
const MAX_SHOWN = 50;
const MAX_TEXT = 160;

/** The report of `gjallar compare`, as lines. */
export function reportOf(result: CompareResult): string[] {
  return [
    `${result.file}: ${result.ways.stock} against ${result.ways.gjallar}, ${result.steps} steps`,
    '',
    ...behaviour(result),
    '',
    ...figures(result),
  ];
}

function behaviour({ behaviour: { differences, compared, variable } }: CompareResult): string[] {
  const left =
    variable.length === 0 ? '' : `; ${variable.length} differ between two runs on stock, too, and are not compared`;
  if (differences.length === 0) return [`Behaviour: no differences. ${compared} values are equal${left}.`];
  const lines = differences
    .slice(0, MAX_SHOWN)
    .flatMap(({ where, stock, gjallar }) => [
      `  ${where}`,
      `      stock:   ${text(stock)}`,
      `      gjallar: ${text(gjallar)}`,
    ]);
  const more = differences.length - MAX_SHOWN;
  return [
    `Behaviour: ${differences.length} ${differences.length === 1 ? 'difference' : 'differences'} in ${compared} values${left}.`,
    ...lines,
    ...(more > 0 ? [`  and ${more} more; --json lists them all`] : []),
  ];
}

function text(value: unknown): string {
  const json = JSON.stringify(value) ?? 'nothing';
  return json.length > MAX_TEXT ? `${json.slice(0, MAX_TEXT)}…` : json;
}

function figures({ figures: { stock, gjallar }, messagesPerSecond, connectsPerSecond }: CompareResult): string[] {
  if (!stock || !gjallar) return ['Costs: not measured.'];
  const rows: [string, (costs: Costs) => number, number][] = [
    ['CPU per connect, µs', (costs) => costs.cpuPerConnect, 0],
    ['CPU per message, µs', (costs) => costs.cpuPerMessage, 1],
    ['memory before clients, MB', (costs) => costs.memoryIdle / 1e6, 0],
    ['memory with the clients, MB', (costs) => costs.memoryConnected / 1e6, 0],
    ['time to connect, p50, ms', (costs) => costs.connectP50, 1],
    ['time to connect, p99, ms', (costs) => costs.connectP99, 1],
    ['acknowledgement, p50, ms', (costs) => costs.ackP50, 1],
    ['acknowledgement, p99, ms', (costs) => costs.ackP99, 1],
    [`cores at ${messagesPerSecond} messages and ${connectsPerSecond} connects a second`, (costs) => costs.cores, 3],
  ];
  const width = Math.max(...rows.map(([title]) => title.length));
  const line = (title: string, ...cells: string[]) =>
    `  ${title.padEnd(width)}${cells.map((cell) => cell.padStart(10)).join('')}`;
  return [
    'Costs of the server:',
    line('', 'stock', 'gjallar', 'ratio'),
    ...rows.map(([title, of, digits]) => {
      const [a, b] = [of(stock), of(gjallar)];
      return line(title, shown(a, digits), shown(b, digits), shown(b / a, 2));
    }),
  ];
}

const shown = (value: number, digits: number) => (Number.isFinite(value) ? value.toFixed(digits) : '–');
