import { figureKinds } from '../../../base/figure-table.js';
import { ALL, type Figure, SUM } from '../../../base/figures.js';

/**
 * Figures in the text format of Prometheus, in the order of the table.
 * Source: https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
 */
export function textOf(figures: readonly Figure[]): string {
  let text = '';
  for (const [name, { type, help }] of Object.entries(figureKinds)) {
    const lines = figures.filter(([own]) => own === name).flatMap(type === 'histogram' ? linesOf : lineOf);
    if (lines.length > 0) text += `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`;
  }
  return text;
}

function lineOf([name, values, value]: Figure): string {
  const { labels, rule } = figureKinds[name];
  return line(name, rule === 'worker' || rule === 'longest' ? [...labels, 'worker'] : labels, values, value);
}

function linesOf([name, values, value]: Figure): string[] {
  const { labels } = figureKinds[name];
  const part = values.at(-1)!;
  if (part === SUM) return [line(`${name}_sum`, labels, values, value)];
  const bucket = line(`${name}_bucket`, [...labels, 'le'], values, value);
  return part === ALL ? [bucket, line(`${name}_count`, labels, values, value)] : [bucket];
}

const line = (name: string, labels: readonly string[], values: readonly string[], value: number): string =>
  `${name}${labels.length > 0 ? `{${labels.map((label, at) => `${label}="${escaped(values[at]!)}"`).join(',')}}` : ''} ${value}\n`;

function escaped(text: string): string {
  return text.replace(/[\\"\n]/g, (character) => (character === '\n' ? '\\n' : `\\${character}`));
}
