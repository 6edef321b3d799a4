import { spread } from '../results/groups.js';
import { markdownTable, shown } from './table.js';

/**
 * How many clients were held with which heartbeat, invalid runs included, so that the limit is seen as well.
 * @param {import('../results/groups.js').Group[]} groups
 */
export function heldSection(groups) {
  const found = groups.filter(({ benchmark, results }) => benchmark === 'connections' && results.length > 0);
  if (found.length === 0) return '';
  const stock = found.filter(({ peer }) => peer.startsWith('socketio')).map((group) => median(group, 'clients'));
  const rows = found.map((group) => ({ group, every: group.parameters.every ?? DEFAULT_PING }));
  rows.sort((a, b) => a.every - b.every || median(a.group, 'clients') - median(b.group, 'clients'));
  return `## Most clients held in one room

${
  stock.length > 0
    ? `Stock Socket.IO was run with ${shown(Math.max(...stock), 0)} clients only, so this table does not compare its limit with gjallar's.`
    : 'Stock Socket.IO was not run.'
} Socket.IO pings every 25 s by default; the larger numbers need a longer interval.

${markdownTable(
  ['clients', 'server', 'workers', 'ping every', 'lost', 'one message reached all in', 'valid'],
  rows.map(heldRow),
)}`;
}

const DEFAULT_PING = 25_000;

function heldRow({ group, every }) {
  const [reached, clients] = [median(group, 'reached'), median(group, 'clients')];
  return [
    shown(clients, 0),
    group.peer,
    shown(median(group, 'workers'), 0),
    `${every / 1000} s`,
    shown(median(group, 'ended'), 0),
    reached === clients ? `${shown(median(group, 'reachAll') / 1000, 1)} s` : 'not all',
    group.valid ? 'yes' : '**no**',
  ];
}

const median = (group, key) => spread(group, key)?.median ?? Number.NaN;
