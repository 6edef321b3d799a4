import { setTimeout as sleep } from 'node:timers/promises';
import { Histogram } from '../generator/histogram.js';
import { columns, latencyOf, quantiles, shown } from './columns.js';
import { measured } from './measured.js';

// Two questions of a public benchmark of WebSocket servers for Node.js, for socket.io-clients that return by themselves: what they
// miss where connections are cut, and where a new version is deployed. A publisher says numbers to all; what the server has
// confirmed counts.

/** From now on, clients hear numbers: `perSecond`, confirmed one by one. */
async function begin({ fleet, cell: { clients, perSecond } }) {
  const crowd = await fleet.group(clients, 'returning');
  const publisher = await fleet.group(1, 'returning');
  await crowd.open();
  await publisher.order('publish', { perSecond });
  // socket.io-client names its session with the first event.
  await sleep(2000);
  return { crowd, publisher };
}

/** What became of the confirmed numbers, and of the clients. */
async function outcome({ crowd, publisher }, { clients }) {
  await crowd.order('rest');
  const confirmed = await publisher.order('rest');
  const { outages, ...found } = await crowd.order('found', { confirmed });
  const offline = new Histogram();
  offline.add(outages);
  const expected = confirmed.length * clients;
  return {
    ...found,
    expected,
    delivered: (1 - found.lost / expected) * 100,
    offlineP50: offline.percentile(0.5),
    offlineP95: offline.percentile(0.95),
  };
}

const recovering = { recovers: true };
/** gjallar's `Server` as an application has it; the other peers of the library are socket.io's `Server` on gjallar's engine. */
const library = { base: 'swap', ...recovering };
const peers = {
  'socketio-ws': {},
  'socketio-recovery': {},
  'socketio-cluster-2': {},
  'socketio-uws': {},
  gjallar: library,
  'gjallar-run-2': recovering,
  'gjallar-machines-2': recovering,
};
/** Those of them that other benchmarks run beside the usual ones. */
export const alsoInArena = ['socketio-recovery', 'socketio-cluster-2', 'gjallar-run-2', 'gjallar-machines-2'];
const arena = { application: 'arena' };

const CUT_EVERY_S = 15;

export const jitter = {
  about: `the TCP connection of each client is cut every ${CUT_EVERY_S} s, and socket.io-client returns after 1 to 3 s; latency is from the publisher to the client, with what a client is sent after its return`,
  peers,
  cells: (quick) =>
    [quick ? 500 : 2000].map((clients) => ({
      label: `${shown(clients)} clients, 2 messages/s`,
      ...{ clients, perSecond: 2, peer: arena },
    })),
  columns: columns('delivered lost repeated cuts recovered p50 p95 p99 server generatorCpu'),
  run: measured({
    warmUp: [0, 0],
    window: [60, 20],
    async begin(row) {
      const played = await begin(row);
      await played.crowd.order('cut', { every: CUT_EVERY_S * 1000 });
      return played;
    },
    async figures({ groups: [{ total, latency }] }, { cell }, played) {
      const found = await outcome(played, cell);
      return { ...found, cuts: total.cuts, ...quantiles(latency) };
    },
  }),
};

export const deploy = {
  about:
    'a new version of the application is deployed: one process is killed and started again, the workers of one machine are replaced, and of two machines one is restarted after the other',
  peers: {
    ...peers,
    'gjallar-run-2-moves': { like: 'gjallar-run-2', ...recovering, env: { GJALLAR_SOCKETS: 'portable' } },
  },
  cells: (quick) =>
    [quick ? 500 : 2000].map((clients) => ({
      label: `${shown(clients)} clients, 4 messages/s`,
      ...{ clients, perSecond: 4, peer: arena },
    })),
  columns: columns('dropped offlineP50 offlineP95 neverBack recovered lost repeated deployMs p99'),
  async run(row) {
    const { peer, fleet, cell } = row;
    const played = await begin(row);
    await fleet.look();
    const from = performance.now();
    await peer.deploy();
    const deployMs = performance.now() - from;
    await played.crowd.order('found', {});
    await sleep(2000);
    const [[{ latency }]] = await fleet.look();
    const heard = new Histogram();
    heard.add(latency);
    const { returns, neverBack, ...found } = await outcome(played, cell);
    return { ...found, ...latencyOf(heard), dropped: returns + neverBack, neverBack, deployMs };
  },
};
