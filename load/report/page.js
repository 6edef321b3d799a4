import { comparison } from './sections/comparison.js';
import { heldSection } from './sections/held.js';
import { lossesSection } from './sections/losses.js';
import { overview } from './sections/overview.js';
import { subjects } from './subjects.js';

/**
 * The summary that a person reads; the results themselves are on pages of their own.
 * @param {import('./results/groups.js').Group[]} groups
 * @param {Record<string, object>} benchmarks
 */
export function page(groups, benchmarks) {
  const measured = Object.entries(benchmarks).filter(([name]) => groups.some(({ benchmark }) => benchmark === name));
  const missing = Object.keys(benchmarks).filter((name) => !measured.some(([known]) => known === name));
  const parts = [
    '# Benchmarks',
    introduction,
    `## gjallar and stock Socket.IO\n\n${overview(groups)}`,
    lossesSection(groups, measured),
    heldSection(groups),
    comparison(groups, measured),
    '## All results',
    [...details(measured), ...more].join('\n'),
    missing.length > 0 ? `Without results so far: ${missing.map((name) => `\`${name}\``).join(', ')}.` : '',
  ];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

const introduction = `This page compares gjallar with stock Socket.IO and with other servers, and lists what gjallar loses.
\`npm run bench:report\` writes it from [the recorded results](benchmarks/results.jsonl), so do not edit it by hand.

- Server and load generator ran on the same machine, on a core each. CPU times are those of the server alone.
- A run that disturbed itself is \`INVALID\`: lost connections, or a load generator at its limit. It is never compared.
- "Quick" runs last a few seconds. Absolute figures differ between machines by a factor of two; ratios differ less.
- [method.md](benchmarks/method.md) names the machines, versions, commits and commands.`;

const details = (measured) =>
  Object.entries(subjects).flatMap(([file, { title, names }]) => {
    const known = names.filter((name) => measured.some(([found]) => found === name));
    const list = known.map((name) => `[${name}](benchmarks/${file}.md#${name})`).join(', ');
    return known.length > 0 ? [`- [${title}](benchmarks/${file}.md): ${list}`] : [];
  });

const more = [
  '- [Capacity planning](benchmarks/capacity.md): a calculation for 1, 10 and 100 million users',
  '- [Method](benchmarks/method.md): machines, versions, commands, published workloads, best ratios so far',
];
