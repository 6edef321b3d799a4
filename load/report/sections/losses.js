import { ratio, spread } from '../results/groups.js';
import { cellsOf } from './details.js';
import { markdownTable, shown, times } from './table.js';

/** A difference that says nothing. */
const NOISE = 1.05;

/**
 * Every compared figure in which a Socket.IO server is better than gjallar, the largest differences first.
 * @param {import('../results/groups.js').Group[]} groups
 * @param {[string, object][]} measured benchmarks by name
 */
export function lossesSection(groups, measured) {
  const rows = measured.flatMap(([name, { columns }]) =>
    cellsOf(groups, name).flatMap((cell) =>
      columns.filter(isCompared).flatMap((column) => lossesOf(name, cell, column)),
    ),
  );
  if (rows.length === 0) return '';
  const sorted = rows.sort((a, b) => b.factor - a.factor);
  return `## What gjallar loses to Socket.IO

Each row in the results in which a Socket.IO server costs less, answers sooner or carries more. A busy gjallar worker
collects messages for up to \`FLUSH_MS\` (25 ms by default). That is why its latency is higher and its CPU time lower.

${markdownTable(
  ['benchmark', 'figure', 'server', 'its figure', 'gjallar', 'better by'],
  sorted.map(({ cells, factor }) => [...cells, times(factor)]),
)}`;
}

// A latency is no ratio in every table, but a reader wants to know all of them.
const isCompared = ({ ratio: compared, title }) => compared || title === 'average ms';

function lossesOf(name, cell, column) {
  const ours = counterpart(cell);
  if (!ours) return [];
  const isRate = column.title.endsWith('/s');
  return cell
    .filter(({ peer }) => peer.startsWith('socketio'))
    .flatMap((group) => {
      const other = counterpart(cell, group.peer);
      const found = other && ratio(group, other, column);
      const factor = isRate ? found : 1 / found;
      if (!(factor > NOISE)) return [];
      const [theirs, own] = [group, other].map((each) => shown(spread(each, column.key).median));
      return [{ factor, cells: [`${name}: ${cell[0].cell}`, column.title, group.peer, theirs, own] }];
    });
}

/** The row of gjallar that does the same as a peer: as many nodes, the same store; of several buses the default. */
function counterpart(cell, peer = '') {
  const kind = peer.replace(/^socketio(-ws|-uws)?/, 'gjallar');
  const of = (name) => cell.find((group) => group.peer === name);
  return of(kind) ?? of(`${kind}-frames`) ?? cell.find((group) => group.peer.startsWith('gjallar'));
}
