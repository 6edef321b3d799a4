import { recordMemory } from '../harness/row/memory.js';
import { usageColumns } from './columns.js';
import { cpuPer, measured } from './measured.js';
import { shown } from './shown.js';

const ROOM = 'quotes';
/** Milliseconds; see `generator/rest.js`. */
const REST = 0.5;
/** How long a slow client sleeps after each read, in ms, and how many bytes it reads at once: 40 KB a second. */
const PAUSE = 200;
const READ = 8192;

/** Times about 20,000 messages a second at most. */
const sampling = (messages) => [1, 7, 13, 41, 101].find((every) => messages / every <= 20_000) ?? 211;

/** Clients of one room, some of them slow. The figures are those of the fast ones. */
const runWatchers = measured({
  warmUp: [10, 4],
  window: [20, 6],
  async begin({ peer, fleet, cell: { clients, slow = 0, changes, rounds } }) {
    const sluggish = slow > 0 ? await fleet.group(slow) : undefined;
    await sluggish?.open(slow, { readSize: READ });
    await sluggish?.join(ROOM);
    await sluggish?.begin('follow', { pause: PAUSE });
    const watching = await fleet.group(clients - slow);
    await watching.open();
    await watching.join(ROOM);
    await watching.begin('follow', { rest: REST, every: sampling((clients - slow) * changes * rounds) });
    const starter = await fleet.group(1);
    await starter.open();
    await starter.begin('publish', { event: 'start', room: ROOM, perSecond: 1, size: 16 });
    return { sluggish, stopRecording: recordMemory(peer, 500) };
  },
  async figures(window, { cell: { clients, slow = 0, changes, rounds } }, { sluggish, stopRecording }) {
    const series = stopRecording();
    const [received] = window.groups.slice(sluggish ? 1 : 0);
    const [behind] = sluggish ? window.groups : [];
    // A server without time left publishes less than it should.
    const published = received.perSecond.published / changes;
    return {
      cpuPerRound: cpuPer(window, published) / 1000,
      bytesPerRound: received.perSecond.bytes / published / (clients - slow),
      published,
      messages: received.perSecond.received,
      staleness: behind?.latency.percentile(0.5),
      stalest: behind?.latency.percentile(0.99),
      slowBytes: behind && behind.perSecond.bytes / slow,
      slowClosed: sluggish && (await sluggish.count('ended')),
      highestRss: Math.max(...series.map(({ rss }) => rss)),
      offered: rounds,
      ...{ due: rounds, achieved: published, counted: [received] },
    };
  },
});

/** Clients that join a filled room again and again. */
const runJoins = measured({
  warmUp: [5, 3],
  window: [15, 5],
  async begin({ fleet, cell: { clients, event, perSecond } }) {
    const group = await fleet.group(clients);
    await group.open();
    await group.join(ROOM);
    await group.begin('joinAgain', { event, perSecond });
  },
  figures(window, { cell }) {
    const [{ perSecond }] = window.groups;
    return {
      joins: perSecond.acknowledged,
      cpuPerJoin: cpuPer(window, perSecond.acknowledged),
      bytesPerJoin: perSecond.bytes / perSecond.acknowledged,
      saturated: perSecond.acknowledged < cell.perSecond * 0.95,
    };
  },
});

const watchers = (label, parameters) => {
  const { keys, size, changes, rounds } = parameters;
  return { label, ...parameters, peer: { keys, size, changes, rounds } };
};

const many = (quick) => {
  // 200 values of 1 KB to 5,000 clients ten times a second would be 10 GB a second, which no peer can send here.
  const setting = { clients: 5000, keys: 200, size: 1000, rounds: 10 };
  // With one key in each round, a broadcast is all that there is to send. With several, a state room sends one message.
  return (quick ? [1, 5] : [1, 2, 5]).map((changes) =>
    watchers(
      `5,000 clients, 200 keys of 1 KB, 10 rounds/s, ${shown(changes)} ${changes > 1 ? 'keys' : 'key'} in each`,
      {
        ...setting,
        changes,
      },
    ),
  );
};

const slow = [0, 500].map((slowly) =>
  watchers(
    `1,000 clients${slowly ? `, ${slowly} of which sleep ${PAUSE} ms after each read of ${READ / 1024} KiB` : ''}, 2,000 changes/s of 200 keys of 100 bytes`,
    // It takes so long until what the kernel buffers for slow clients is full.
    { clients: 1000, slow: slowly, keys: 200, size: 100, changes: 1, rounds: 2000, warmUp: 30 },
  ),
);

const filled = { keys: 1000, size: 100, changes: 1, rounds: 10, filled: true };
const joins = ['join', 'return'].map((event) => ({
  label: `${event === 'join' ? 'joins' : 'reconnects with a version'}, 1,000 keys of 100 bytes`,
  clients: 200,
  event,
  perSecond: event === 'join' ? 500 : 2000,
  peer: filled,
}));

/** Newest values to many clients: broadcasts of socket.io, and state rooms. */
export default {
  about: 'newest values of keys, published in the server: as broadcasts, and in a state room',
  peers: {
    'socketio-ws-emit': { program: 'state-socketio', mode: 'emit' },
    'uws-publish': { program: 'state-uws', mode: 'emit' },
    'gjallar-emit': { program: 'state-gjallar', mode: 'emit' },
    'gjallar-state': { program: 'state-gjallar', mode: 'state' },
  },
  cells: (quick) => [...many(quick), ...slow, ...joins],
  columns: [
    { key: 'cpuPerRound', title: 'CPU ms/round', digits: 2, ratio: true },
    { key: 'bytesPerRound', title: 'bytes/round', digits: 0 },
    { key: 'published', title: 'rounds/s', digits: 1 },
    { key: 'joins', title: 'joins/s', digits: 0 },
    { key: 'cpuPerJoin', title: 'CPU µs/join', digits: 0, ratio: true },
    { key: 'bytesPerJoin', title: 'bytes/join', digits: 0 },
    { key: 'p99', title: 'p99 ms', digits: 1 },
    { key: 'staleness', title: 'slow: age ms', digits: 0 },
    { key: 'stalest', title: 'slow: age p99', digits: 0 },
    { key: 'slowClosed', title: 'closed', digits: 0 },
    { key: 'highestRss', title: 'highest RSS MiB', digits: 0 },
    ...usageColumns,
  ],
  run: (row) => (row.cell.event ? runJoins(row) : runWatchers(row)),
};

const clustered = (mode, parts) => ({
  program: 'hosted-nodes',
  application: 'state/state-program',
  mode,
  processes: 2,
  ...parts,
});

/** The same on two workers, and on two machines over Redis. One of them publishes. */
export const stateNodes = {
  about: 'newest values of keys that one worker publishes, on two workers and on two nodes joined by Redis',
  peers: {
    'gjallar-workers-2-emit': clustered('emit', { workers: 2 }),
    'gjallar-workers-2-state': clustered('state', { workers: 2 }),
    'gjallar-nodes-2-emit': clustered('emit', { nodes: 2 }),
    'gjallar-nodes-2-state': clustered('state', { nodes: 2 }),
  },
  cells: () => [
    watchers('1,000 clients, 200 keys of 100 bytes, 400 changes/s', {
      clients: 1000,
      keys: 200,
      size: 100,
      changes: 1,
      rounds: 400,
    }),
  ],
  columns: [
    { key: 'cpuPerRound', title: 'CPU ms/round', digits: 3, ratio: true },
    { key: 'bytesPerRound', title: 'bytes/round', digits: 0 },
    { key: 'average', title: 'average ms', digits: 1, ratio: true },
    { key: 'p99', title: 'p99 ms', digits: 1 },
    { key: 'server', title: 'server %', digits: 0 },
    { key: 'redisCpu', title: 'Redis %', digits: 0 },
    { key: 'generatorCpu', title: 'generator %', digits: 0 },
  ],
  run: runWatchers,
};
