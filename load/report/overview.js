import { cellsOf, isSaturated, quotient, reference, spread } from './groups.js';
import { markdownTable, shown, times } from './tables.js';

const room = (rate) => (p) => p.subscribers === 1000 && p.publishers === 10 && p.perSecond === rate;
const rooms = (rate) => ({ benchmark: 'broadcast', matches: room(rate) });
const held = {
  ...{ benchmark: 'connections', peers: ['socketio-cluster', undefined, undefined, undefined, 'gjallar-cluster'] },
  matches: ({ clients }) => clients === 64_000,
};
const lone = { benchmark: 'broadcast', matches: ({ subscribers }) => subscribers === 1 };
const acrossNodes = {
  ...{ benchmark: 'cluster', peers: ['socketio-nodes-2', undefined, undefined, undefined, 'gjallar-nodes-2-frames'] },
  matches: ({ perSecond }, cell) => perSecond === 1000 && cell.startsWith('rooms of 10,'),
};

const micros = { unit: 'µs' };
const millis = { unit: 'ms' };
const kilobytes = { unit: 'KB', per: 1000 };

/** What the tables compare. Of each cell, a figure in a unit. */
const connects = { about: 'CPU to connect a client', benchmark: 'connect', key: 'cpuPerConnect', ...micros };
const holds = { about: 'memory of the process per client', benchmark: 'connect', key: 'rssPerClient', ...kilobytes };
const echoes = { about: 'CPU to echo a message', benchmark: 'echo', key: 'cpuPerMessage', ...micros };
const delivers = (rate) => ({
  about: `room of 1,000 at ${rate} messages/s: CPU per delivery`,
  ...{ ...rooms(rate), key: 'cpuPerDelivery', ...micros },
});
const delays = (rate) => ({
  about: `room of 1,000 at ${rate} messages/s: latency`,
  ...{ ...rooms(rate), key: 'average', ...millis },
});
const whispers = {
  about: 'rooms of 10 at 1,000 messages/s: CPU per message',
  ...{
    benchmark: 'whispers',
    matches: (p) => p.members === 10 && p.perSecond === 1000,
    key: 'cpuPerMessage',
    ...micros,
  },
};

const hundred = { benchmark: 'fanout', matches: ({ subscribers }) => subscribers === 100 };
const inHundred = [
  { about: 'room of 100 at 100 messages/s: CPU per delivery', ...hundred, key: 'cpuPerDelivery', ...micros },
  { about: 'room of 100 at 100 messages/s: latency', ...hundred, key: 'average', ...millis },
];

/** The README's: at rates at which stock socket.io keeps up. */
const lines = [connects, holds, echoes, ...inHundred, whispers];
/** Those of the page of benchmarks. */
const allLines = [
  ...[connects, holds],
  { about: 'the same with the kernel’s memory, 64,000 clients', ...held, key: 'bytesPerClient', ...kilobytes },
  { about: 'CPU of 64,000 clients that send every 25 s', ...held, key: 'server', unit: '% of a core' },
  ...[echoes, whispers, ...inHundred],
  { about: 'latency of a lone message to one client', ...lone, key: 'average', ...millis },
  ...[40, 100, 400].flatMap((rate) => [delivers(rate), delays(rate)]),
  { about: 'rooms of 10 on two nodes: CPU per message', ...acrossNodes, key: 'cpuPerMessage', ...micros },
  { about: 'rooms of 10 on two nodes: latency', ...acrossNodes, key: 'average', ...millis },
];

const STOCK = 'socketio-ws';
/** The bases of gjallar that the README compares with stock socket.io. */
const shownBases = [
  { title: 'gjallar beside Express', peer: 'gjallar-express' },
  { title: 'gjallar, on a port of its own', peer: 'gjallar' },
];
const readmePeers = [STOCK, ...shownBases.map(({ peer }) => peer)];

/** The servers of the page of benchmarks. */
const servers = [
  { title: 'stock socket.io', peer: STOCK },
  { title: 'socket.io `attachApp`', peer: 'socketio-uws' },
  { title: 'gjallar beside Express', peer: 'gjallar-express' },
  { title: 'gjallar on portable sockets', peer: 'gjallar-portable' },
  { title: 'gjallar on native sockets', peer: 'gjallar' },
];
const compared = servers.map(({ peer }) => peer);

/** The cell of `connect` that the others vary. */
const withFlags = ({ onPolling, peer }) => !onPolling && peer?.nodeFlags === undefined;

const fits =
  ({ benchmark, matches = withFlags }) =>
  (g) =>
    g.valid && g.benchmark === benchmark && matches(g.parameters, g.cell);

/**
 * The groups of peers. All are of one version of Node.js: the one with most of them, and of several the newest with native
 * sockets, which the last peer has.
 */
function findAll(groups, line, peers) {
  const fitting = groups.filter(fits(line));
  const versions = [...new Set(fitting.map(({ node }) => node))].map((node) =>
    peers.map((peer) => fitting.find((group) => group.peer === peer && group.node === node)),
  );
  const complete = (found) => found.filter(Boolean).length * 100 + (found.at(-1)?.node ?? 0);
  return versions.sort((a, b) => complete(b) - complete(a))[0] ?? peers.map(() => undefined);
}

/**
 * What measures the README's table: of each benchmark, the cells and peers.
 * @param {Readonly<Record<string, { cells(quick: boolean): any[] }>>} benchmarks
 * @returns {{ name: string, cells: object[], peers: string[] }[]}
 */
export function readmeRows(benchmarks) {
  const rows = new Map();
  for (const { benchmark: name, matches = withFlags } of lines) {
    const cell = benchmarks[name].cells(false).find((each) => matches(each, each.label));
    const row = rows.get(name) ?? { name, cells: [], peers: readmePeers };
    if (!row.cells.some(({ label }) => label === cell.label)) row.cells.push(cell);
    rows.set(name, row);
  }
  return [...rows.values()];
}

/**
 * The README's table: stock socket.io beside gjallar on two of its bases.
 * @param {import('./groups.js').Group[]} groups
 */
export function readmeTable(groups) {
  const head = ['', 'stock socket.io', ...shownBases.flatMap(({ title }) => [title, 'gain']), ''];
  const found = lines.map((line) => findAll(groups, line, readmePeers));
  const rows = found.map(([stock, ...ours], at) => [
    ...[lines[at].about, told(stock, lines[at])],
    ...ours.flatMap((group) => [told(group, lines[at]), gain(stock, group, lines[at])]),
    '',
  ]);
  const runs = found.flat().flatMap((group) => group?.runs ?? []);
  return `${markdownTable(head, rows)}

Each figure is the median of ${Math.min(...runs)} or more runs. A gain is the quotient of two medians, with the lowest and the highest quotient of runs that
followed one another in parentheses. Below 1×, gjallar is worse.`;
}

/** The table of the page of benchmarks, with every server on Node.js that has the row. @param {import('./groups.js').Group[]} groups */
export function overview(groups) {
  const head = ['', ...servers.map(({ title }) => title), 'gain over stock', 'gain over `attachApp`', 'runs'];
  const rows = allLines.map((line) => {
    const found = findAll(groups, line, line.peers ?? compared);
    const [stock, attached] = found;
    const ours = found.at(-1);
    const gains = [gain(stock, ours, line), gain(attached, ours, line)];
    return [line.about, ...found.map((group) => told(group, line, true)), ...gains, runsOf(found.filter(Boolean))];
  });
  return `${markdownTable(head, rows)}

Each figure is the median of its runs, with the lowest and the highest in parentheses. A gain is that of gjallar on native sockets:
the quotient of two medians, with the lowest and the highest quotient of runs that followed one another. Below 1×, gjallar is worse.
The highest rate of a room is not here: on two cores, gjallar takes more than one process can send, so most runs are INVALID.`;
}

/**
 * Every gain of the README's table, as the figures that it is the quotient of.
 * @param {import('./groups.js').Group[]} groups
 * @returns {{ about: string, benchmark: string, cell: string, key: string, peers: [theirs: string, ours: string], gain: number }[]}
 */
export const claims = (groups) =>
  lines.flatMap((line) => {
    const [stock, ...ours] = findAll(groups, line, readmePeers);
    return ours.flatMap((group) => {
      if (gain(stock, group, line) === '–') return [];
      const { about, benchmark, key } = line;
      const peers = [stock.peer, group.peer];
      return [{ about, benchmark, cell: group.cell, key, peers, gain: quotient(stock, group, key) }];
    });
  });

function told(group, { key, per = 1, unit }, isSpread = false) {
  if (!group) return '–';
  const { median, min, max } = spread(group, key);
  const [middle, low, high] = [median, min, max].map((value) => threeDigits(value / per));
  const extremes = !isSpread || low === high ? '' : ` (${low}–${high})`;
  return `${middle}${unit.startsWith('%') ? '' : ' '}${unit}${extremes}${isSaturated(group) ? ', saturated' : ''}`;
}

/** The quotient of the figures as they are shown, so that a reader who divides them finds the same; and those of the runs. */
function gain(theirs, ours, { key, per = 1, unit }) {
  if (!theirs || !ours) return '–';
  // It grows as long as the run lasts.
  if (unit === 'ms' && [theirs, ours].some(isSaturated)) return '–';
  const figure = (group) => Number(threeDigits(spread(group, key).median / per).replaceAll(',', ''));
  const quotients = ours.results.flatMap((run, at) => theirs.results[at]?.[key] / run[key] || []);
  const [low, high] = [Math.min(...quotients), Math.max(...quotients)].map((value) => shown(value));
  return `${shown(figure(theirs) / figure(ours))}×${low === high ? '' : ` (${low}–${high})`}`;
}

const threeDigits = (value) => (value < 100 ? String(Number(value.toPrecision(3))) : shown(value));

/** How many there were of the peer with the fewest, and whether they were short ones. */
function runsOf(groups) {
  if (groups.length === 0) return '–';
  const fewest = Math.min(...groups.map(({ runs }) => runs));
  return `${fewest}${groups.some(({ quick }) => quick) ? ' quick' : ''}, Node ${groups[0].node}`;
}

const isOurs = ({ peer }) => peer.includes('gjallar');

/** A difference that says nothing. */
const NOISE = 1.05;

/**
 * Every compared figure in which another server is better than gjallar, the largest differences first.
 * @param {import('./groups.js').Group[]} groups
 * @param {[string, object][]} measured benchmarks by name
 */
export function losses(groups, measured) {
  const rows = measured.flatMap(([name, benchmark]) =>
    cellsOf(groups, name, benchmark).flatMap((cell) =>
      benchmark.columns.filter(isCompared).flatMap((column) => lossesOf(name, cell, column)),
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

function lossesOf(name, { label, groups }, column) {
  if (!groups.some(isOurs)) return [];
  return groups
    .filter((group) => !isOurs(group))
    .flatMap((group) => {
      const other = reference(group, groups);
      // A saturated server may still answer sooner.
      const isWorthless = column.title.endsWith(' ms') && isSaturated(other);
      const found = isWorthless ? undefined : quotient(group, other, column.key);
      const factor = column.title.endsWith('/s') ? found : 1 / found;
      if (!(factor > NOISE)) return [];
      const [theirs, own] = [group, other].map((each) => shown(spread(each, column.key).median));
      const server = isSaturated(group) ? `${group.peer}, saturated` : group.peer;
      return [{ factor, cells: [`${name}: ${label}`, column.title, server, theirs, own] }];
    });
}

/** The costs that an estimate needs: what the page calls them, and the figure that they come from, in µs or bytes. */
const costs = {
  heartbeat: { about: 'heartbeat: one for each client in 25 s', benchmark: 'idle', keys: ['cpuPerHeartbeat'] },
  echo: {
    about: 'message: one that is received and sent to one client',
    ...{ benchmark: 'echo', keys: ['cpuPerMessage'], matches: (p) => p.size === 30 },
  },
  delivery: {
    about: 'delivery: each further recipient, in a room with few messages',
    ...{ ...rooms(40), keys: ['cpuPerDelivery'] },
  },
  gathered: {
    about: 'delivery in a room with 1,000 messages/s, for comparison',
    ...{ ...rooms(1000), keys: ['cpuPerDelivery'] },
  },
  memory: {
    about: 'memory of a connection, including the kernel’s for both of its ends',
    ...{ benchmark: 'connections', peer: 'gjallar-cluster', keys: ['serverPerClient', 'kernelPerClient'] },
    matches: (p) => p.clients === 1_000_000 && p.every > 25_000,
  },
};

/** @param {import('./groups.js').Group[]} groups */
const measuredCosts = (groups) =>
  Object.entries(costs).flatMap(([name, cost]) => {
    const [group] = findAll(groups, cost, [cost.peer ?? 'gjallar']);
    return group ? [{ name, ...cost, value: cost.keys.reduce((sum, key) => sum + spread(group, key).median, 0) }] : [];
  });

/** The table of costs of docs/guide/scaling.md. */
export function sizingSection(groups) {
  const rows = measuredCosts(groups).map(({ name, about, benchmark, value }) => [
    about,
    name === 'memory' ? `${shown(value / 1000)} KB` : `${shown(value)} µs`,
    `\`${benchmark}\``,
  ]);
  return `${markdownTable(['cost', 'measured', 'benchmark'], rows)}

These are the medians on the machines of [the benchmarks](../benchmarks.md#machines-and-commands), on one core.`;
}

/** The same for the form on the site, in seconds or bytes. */
export function sizingCosts(groups) {
  const values = measuredCosts(groups).map(({ name, value }) => [name, name === 'memory' ? value : value / 1e6]);
  const told = Object.fromEntries(values.map(([name, value]) => [name, Number(value.toPrecision(3))]));
  return `${JSON.stringify(told, null, 2)}\n`;
}
