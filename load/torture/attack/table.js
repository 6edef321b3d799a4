import { aligned } from '../../harness/command.js';

/** How many columns are text, and aligned to the left. */
const TEXTS = 3;
/** Columns of what a person reads. */
const columns = [
  ['attack', ({ attack }) => attack],
  ['limits', ({ limits }) => limits],
  ['sockets', ({ sockets }) => sockets ?? 'default'],
  ['sent MB', ({ spent }) => (spent.bytes / 1e6).toFixed(1)],
  ['conn.', ({ spent }) => spent.connections],
  ['its CPU s', ({ spent }) => spent.cpu.toFixed(1)],
  ['CPU s', ({ server }) => server.cpu.toFixed(1)],
  ['memory MB', ({ server }) => server.memory],
  ['Redis MB', ({ server }) => server.redis ?? ''],
  ['disk MB', ({ server }) => server.disk],
  ['died', ({ server }) => server.deaths],
  ['same ms', ({ others }) => others.same],
  ['other ms', ({ others }) => others.other],
  ['ack ms', ({ others }) => others.post],
  ['lag ms', ({ others }) => others.lag],
  ['programs', ({ programs }) => (programs ?? 0).toFixed(1)],
  [
    '',
    ({ ok, noisy, tries }) => `${ok ? 'ok' : 'FAILED'}${noisy ? ', noisy' : ''}${tries > 1 ? `, try ${tries}` : ''}`,
  ],
];

const isText = (column) => column < TEXTS;

/** The rows as a table of Markdown. @param {object[]} rows @returns {string} */
export function tableOf(rows) {
  const head = columns.map(([title]) => title);
  const rule = head.map((_, column) => (isText(column) ? '---' : '--:'));
  const cells = rows.map((row) => columns.map(([, cell]) => `${cell(row)}`));
  const lines = aligned([head, rule, ...cells], isText, ' | ');
  return lines.map((line) => `| ${line} |`).join('\n');
}
