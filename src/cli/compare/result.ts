import type { Comparison } from './differences.js';
import type { Figures } from './measure/crowd.js';
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
