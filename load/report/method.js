import { provenance } from './sections/provenance.js';
import { ratchetSection } from './sections/ratchet.js';
import { workloadSection } from './workloads.js';

/** The page that says where, when and with what the results were made. */
export function methodPage(rows, groups) {
  const measured = [...new Set(groups.map(({ benchmark }) => benchmark))];
  const parts = [
    '# Method',
    `Where, when, of which commits and by which commands the [results](results.jsonl) were measured.
[load/README.md](../../load/README.md) describes the harness.`,
    provenance(rows),
    workloadSection(measured),
    ratchetSection(groups),
  ];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}
