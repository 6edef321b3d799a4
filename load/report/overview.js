import { isSaturated, ratio, spread } from './groups.js';
import { cellsOf, markdownTable, shown, times } from './tables.js';

const single = ['socketio-ws', 'socketio-uws', 'gjallar'];
const micros = { unit: 'µs' };
const millis = { unit: 'ms' };
const kilobytes = { unit: 'KB', per: 1000 };

const room = (rate) => ({
  benchmark: 'broadcast',
  matches: ({ subscribers, publishers, perSecond }) => subscribers === 1000 && publishers === 10 && perSecond === rate,
});
const held = {
  benchmark: 'connections',
  peers: ['socketio-cluster', undefined, 'gjallar-cluster'],
  matches: ({ clients }) => clients === 64_000,
};
const lone = { benchmark: 'broadcast', matches: ({ subscribers }) => subscribers === 1 };
const acrossNodes = {
  benchmark: 'cluster',
  peers: ['socketio-nodes-2', undefined, 'gjallar-nodes-2-frames'],
  matches: ({ perSecond }, cell) => perSecond === 1000 && cell.startsWith('rooms of 10,'),
};

/** Rows that gjallar wins and rows that it loses. Of each cell, a figure in a unit. */
const lines = [
  { about: 'CPU to connect a client', benchmark: 'connect', key: 'cpuPerConnect', ...micros },
  { about: 'memory of the process per client', benchmark: 'connect', key: 'rssPerClient', ...kilobytes },
  { about: 'the same with the kernel’s memory, 64,000 clients', ...held, key: 'bytesPerClient', ...kilobytes },
  { about: 'CPU of 64,000 clients that send every 25 s', ...held, key: 'server', unit: '% of a core' },
  { about: 'CPU to echo a message', benchmark: 'echo', key: 'cpuPerMessage', ...micros },
  { about: 'latency of a lone message to one client', ...lone, key: 'average', ...millis },
  { about: 'room of 1,000 at 100 messages/s: CPU per delivery', ...room(100), key: 'cpuPerDelivery', ...micros },
  { about: 'room of 1,000 at 100 messages/s: latency', ...room(100), key: 'average', ...millis },
  { about: 'room of 1,000 at 400 messages/s: CPU per delivery', ...room(400), key: 'cpuPerDelivery', ...micros },
  { about: 'rooms of 10 on two nodes: CPU per message', ...acrossNodes, key: 'cpuPerMessage', ...micros },
  { about: 'rooms of 10 on two nodes: latency', ...acrossNodes, key: 'average', ...millis },
];

/**
 * The README's table: the figures of stock socket.io, of its `attachApp` on uWebSockets.js and of gjallar.
 * @param {import('./groups.js').Group[]} groups
 */
export function overview(groups) {
  const servers = ['socket.io on ws', 'socket.io `attachApp`', 'gjallar'];
  const head = ['', ...servers, 'gain over ws', 'gain over `attachApp`', 'runs'];
  return `${markdownTable(
    head,
    lines.map((line) => row(line, groups)),
  )}

Each figure is the median of its runs, with the lowest and the highest in parentheses. A gain is the quotient of the two
medians. Below 1×, gjallar is worse. The highest rate of a room is not here: on two cores, gjallar takes more than one process
can send, so most runs are INVALID.`;
}

function row({ about, benchmark, peers = single, matches = () => true, ...figure }, groups) {
  const isOf = (peer) => (group) =>
    group.benchmark === benchmark && group.peer === peer && group.valid && matches(group.parameters, group.cell);
  const found = peers.map((peer) => groups.find(isOf(peer)));
  const [stock, attached, ours] = found;
  return [
    about,
    ...found.map((group) => (group ? told(group, figure) : '–')),
    gain(stock, ours, figure),
    gain(attached, ours, figure),
    runsOf(found.filter((group) => group !== undefined)),
  ];
}

function told(group, { key, per = 1, unit }) {
  const { median, min, max } = spread(group, key);
  const [middle, low, high] = [median, min, max].map((value) => shown(value / per));
  const extremes = low === high ? '' : ` (${low}–${high})`;
  return `${middle}${unit.startsWith('%') ? '' : ' '}${unit}${extremes}${isSaturated(group) ? ', saturated' : ''}`;
}

/** The quotient of the figures as they are shown, so that a reader who divides them finds the same. */
function gain(theirs, ours, { key, per = 1, unit }) {
  if (!theirs || !ours) return '–';
  // It grows as long as the run lasts.
  if (unit === 'ms' && [theirs, ours].some(isSaturated)) return '–';
  const [one, other] = [theirs, ours].map((group) =>
    Number(shown(spread(group, key).median / per).replaceAll(',', '')),
  );
  return `${shown(one / other)}×`;
}

/** How many there were of the peer with the fewest, and whether they were short ones. */
function runsOf(groups) {
  if (groups.length === 0) return '–';
  const fewest = Math.min(...groups.map(({ runs }) => runs));
  return groups.some(({ quick }) => quick) ? `${fewest} quick` : String(fewest);
}

/** A difference that says nothing. */
const NOISE = 1.05;

/**
 * Every compared figure in which a Socket.IO server is better than gjallar, the largest differences first.
 * @param {import('./groups.js').Group[]} groups
 * @param {[string, object][]} measured benchmarks by name
 */
export function losses(groups, measured) {
  const rows = measured.flatMap(([name, { columns }]) =>
    cellsOf(groups, name).flatMap((cell) =>
      columns.filter(isCompared).flatMap((column) => lossesOf(name, cell, column)),
    ),
  );
  const sorted = rows.sort((a, b) => b.factor - a.factor);
  return markdownTable(
    ['benchmark', 'figure', 'server', 'its figure', 'gjallar', 'better by'],
    sorted.map(({ cells, factor }) => [...cells, times(factor)]),
    3,
  );
}

// A latency is no ratio in every table, but a reader wants to know all of them.
const isCompared = ({ ratio: compared, title }) => compared || title === 'average ms';

function lossesOf(name, cell, column) {
  return cell
    .filter(({ peer }) => /^socketio|-node$/.test(peer))
    .flatMap((group) => {
      const other = counterpart(cell, group.peer);
      const found = other && ratio(group, other, column);
      const factor = column.title.endsWith('/s') ? found : 1 / found;
      if (!(factor > NOISE)) return [];
      const [theirs, own] = [group, other].map((each) => shown(spread(each, column.key).median));
      return [{ factor, cells: [`${name}: ${cell[0].cell}`, column.title, group.peer, theirs, own] }];
    });
}

/** The row of gjallar that does the same as a peer: as many nodes, the same store or routes; of several buses the default. */
function counterpart(cell, peer) {
  const kind = peer.replace(/^socketio(-ws|-uws)?|node$/, 'gjallar');
  const of = (name) => cell.find((group) => group.peer === name);
  return of(kind) ?? of(`${kind}-frames`) ?? cell.find((group) => group.peer.startsWith('gjallar'));
}
