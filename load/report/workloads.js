import { markdownTable } from './sections/table.js';
import { addressOf } from './subjects.js';
import akkaChat from './workloads/1-akka-chat.js';
import oneToOne from './workloads/2-one-to-one.js';
import marketData from './workloads/3-market-data.js';
import manyConnections from './workloads/4-many-connections.js';
import slowClients from './workloads/5-slow-clients.js';

// Each workload was measured and published before, on other machines and in other years. Only published figures are here.
const byNumber = { 1: akkaChat, 2: oneToOne, 3: marketData, 4: manyConnections, 5: slowClients };

/**
 * By the name of our benchmark: the published tables and, for cells that are the same as ours, the published figures under
 * the keys of our columns.
 */
export const published = Object.assign({}, ...Object.values(byNumber).map(({ benchmarks }) => benchmarks));

export const titleOf = (number) => `Workload ${number}: ${byNumber[number].title}`;

/** The section that says where the workloads come from. @param {string[]} measured the benchmarks of the report */
export function workloadSection(measured) {
  const rows = Object.entries(byNumber).map(([number, { title, source, benchmarks }]) => [
    `**${number}**`,
    title,
    source,
    Object.keys(benchmarks)
      .map((name) => (measured.includes(name) ? `[${name}](${addressOf(name)})` : name))
      .join(', '),
  ]);
  return `## Workloads

The main benchmarks repeat five workloads that others have published. Each of the remaining benchmarks isolates one cost.

${markdownTable(['workload', '', 'source', 'benchmarks'], rows, 3)}`;
}
