import { recordMemory } from '../harness/row/memory.js';
import { PAUSE, READ, slowClients } from './backpressure.js';
import { columns } from './columns.js';
import { cpuPer, measured } from './measured.js';
import { REST, sampling } from './room.js';

const ROOM = 'quotes';

/** Clients of one room, some of them slow. The figures are those of the fast ones. */
const runWatchers = measured({
  warmUp: [10, 4],
  window: [20, 6],
  async begin({ peer, fleet, cell: { clients, slow = 0, changes, rounds } }) {
    const sluggish = await slowClients(fleet, slow, 'follow', ROOM);
    const watching = await fleet.group(clients - slow);
    await watching.open();
    await watching.join(ROOM);
    await watching.begin('follow', { rest: REST, every: sampling((clients - slow) * changes * rounds, 20_000) });
    const starter = await fleet.group(1);
    await starter.open();
    await starter.begin('publish', { event: 'start', room: ROOM, perSecond: 1, size: 16 });
    return { sluggish, highestRss: recordMemory(peer, 500) };
  },
  async figures(window, { cell: { clients, slow = 0, changes, rounds } }, { sluggish, highestRss }) {
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
      slowClosed: sluggish && (await sluggish.count('ended')),
      highestRss: highestRss(),
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

const watchers = (label, { keys, size, changes, rounds, ...more }) => {
  const published = { keys, size, changes, rounds };
  return { label, ...published, ...more, peer: published };
};

// 200 values of 1 KB to 5,000 clients ten times a second would be 10 GB a second, which no peer can send here. With one key
// in each round, a broadcast is all that there is to send. With several, a state room sends one message.
const many = [1, 2, 5].map((changes) =>
  watchers(`5,000 clients, 200 keys of 1 KB, 10 rounds/s, ${changes} ${changes > 1 ? 'keys' : 'key'} in each`, {
    ...{ clients: 5000, keys: 200, size: 1000, changes, rounds: 10 },
  }),
);

const slow = [0, 500].map((slowly) =>
  watchers(
    `1,000 clients${slowly ? `, ${slowly} of which sleep ${PAUSE} ms after each read of ${READ / 1024} KiB` : ''}, 2,000 changes/s of 200 keys of 100 bytes`,
    // It takes so long until what the kernel buffers for slow clients is full.
    { clients: 1000, slow: slowly, keys: 200, size: 100, changes: 1, rounds: 2000, warmUp: 30 },
  ),
);

const joins = ['join', 'return'].map((event) => ({
  label: `${event === 'join' ? 'joins' : 'reconnects with a version'}, 1,000 keys of 100 bytes`,
  ...{ clients: 200, event, perSecond: event === 'join' ? 500 : 2000 },
  peer: { keys: 1000, size: 100, changes: 1, rounds: 10, filled: true },
}));

const state = (like, mode) => ({ like, application: 'state', mode });

/** Newest values to many clients: broadcasts of socket.io, and state rooms. */
export default {
  about: 'newest values of keys, published in the server: as broadcasts, and in a state room',
  peers: {
    'socketio-ws-emit': state('socketio-ws', 'emit'),
    'uws-publish': state('uws', 'emit'),
    'gjallar-emit': state('gjallar', 'emit'),
    'gjallar-state': state('gjallar', 'state'),
  },
  cells: (quick) => [...many.filter((_, i) => !quick || i !== 1), ...slow, ...joins],
  columns: columns(
    '×cpuPerRound bytesPerRound published joins ×cpuPerJoin bytesPerJoin p99 staleness stalest slowClosed highestRss server generatorCpu',
  ),
  run: (row) => (row.cell.event ? runJoins(row) : runWatchers(row)),
};
