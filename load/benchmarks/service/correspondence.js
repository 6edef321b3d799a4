import { runWrk } from '../../harness/row/wrk.js';
import { latencyColumns } from '../columns.js';
import { cpuPer, measured } from '../measured.js';
import { shown } from '../shown.js';

const SIZE = 44;
const API_KEY = 'benchmark';

/** Pairs of users that write direct messages to each other. */
const correspond = measured({
  warmUp: [6, 3],
  window: [20, 4],
  async begin({ fleet, cell }) {
    const users = await fleet.group(cell.users);
    await users.open(cell.users, { named: true });
    await users.begin('correspond', { size: SIZE, perSecond: cell.perSecond });
  },
  figures(window, { cell }) {
    const [{ perSecond, total, latency }] = window.groups;
    return {
      acknowledged: perSecond.acknowledged,
      received: perSecond.received,
      completed: total.acknowledged,
      cpuPerMessage: cpuPer(window, perSecond.acknowledged),
      longest: latency.max,
      ...(cell.perSecond ? { due: cell.perSecond, achieved: perSecond.received } : {}),
    };
  },
});

/** wrk posts to a room over HTTP. */
async function post({ peer, cell, quick }) {
  const result = await runWrk(peer, {
    path: '/api/rooms/hall/messages',
    connections: cell.connections,
    seconds: quick ? 4 : 20,
    threads: 1,
    script: 'post.lua',
    headers: [`Authorization: Bearer ${API_KEY}`],
  });
  return { ...result, acknowledged: result.perSecond, cpuPerMessage: result.cpuPerRequest };
}

const service = (more) => ({ program: 'gjallar-nodes', env: { API_KEY }, ...more });
const stock = (more) => ({ program: 'socketio-nodes', ...more });

/** Workload 2: users write to each other, and every message is stored before it is acknowledged and delivered. */
export default {
  about: 'direct messages between users on one worker, with and without a store',
  peers: {
    'socketio-kept-off': stock({}),
    'socketio-kept-redis': stock({ redis: true, env: { HISTORY: 'redis' } }),
    'gjallar-kept-off': service({}),
    'gjallar-kept-redis': service({ redis: true, history: true }),
    'gjallar-kept-sqlite': service({ history: true }),
  },
  cells: (quick) => {
    const inTurn = (quick ? [1000] : [10, 100, 500, 1000, 10_000]).map((users) => ({
      label: `${shown(users)} users, each writes when its last message is acknowledged`,
      users,
    }));
    const paced = [{ label: '10,000 users, 1,000 messages/s', users: 10_000, perSecond: 1000 }];
    const overHttp = (quick ? [100] : [10, 100, 500, 1000, 10_000]).map((connections) => ({
      label: `over HTTP: wrk, ${shown(connections)} keep-alive connections`,
      connections,
    }));
    return [...inTurn, ...paced, ...overHttp];
  },
  columns: [
    { key: 'acknowledged', title: 'acknowledged/s', digits: 0, ratio: true },
    { key: 'completed', title: 'messages', digits: 0 },
    { key: 'cpuPerMessage', title: 'CPU µs/message', ratio: true },
    ...latencyColumns,
    { key: 'longest', title: 'longest ms', digits: 0 },
    { key: 'server', title: 'server %', digits: 0 },
    { key: 'redisCpu', title: 'Redis %', digits: 0 },
    { key: 'generatorCpu', title: 'generator %', digits: 0 },
  ],
  run: (row) => (row.cell.connections ? post(row) : correspond(row)),
};
