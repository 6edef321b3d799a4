import { runWrk } from '../harness/row/wrk.js';
import { columns, shown } from './columns.js';
import { cpuPer, measured } from './measured.js';

const SIZE = 44;
const API_KEY = 'benchmark';

/** The chat service on one worker. */
export const service = (more, env = {}) => ({ like: 'nodes', service: 'gjallar', env: { API_KEY, ...env }, ...more });
export const headers = { Authorization: `Bearer ${API_KEY}` };

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
    if (perSecond.acknowledged === 0) throw new Error('no client was answered');
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
async function post({ peer, cell: { connections }, quick }) {
  const result = await runWrk(peer, {
    path: '/api/rooms/hall/messages',
    ...{ connections, seconds: quick ? 4 : 20, threads: 1, script: 'post.lua' },
    headers: Object.entries(headers).map((header) => header.join(': ')),
  });
  return { ...result, acknowledged: result.perSecond, cpuPerMessage: result.cpuPerRequest };
}

/** Ten users who write as fast as they are answered exceed the chat's limit. */
const unlimited = (more) => service(more, { RATE_LIMIT: 'off' });
const stock = (more) => ({ like: 'nodes', service: 'socketio', ...more });

/** Workload 2: users write to each other, and every message is stored before it is acknowledged and delivered. */
export const correspondence = {
  about: 'direct messages between users on one worker, with and without a store',
  peers: {
    'socketio-kept-off': stock({}),
    'socketio-kept-redis': stock({ redis: true, env: { HISTORY: 'redis' } }),
    'gjallar-kept-off': unlimited({}),
    'gjallar-kept-redis': unlimited({ redis: true, history: true }),
    'gjallar-kept-sqlite': unlimited({ history: true }),
  },
  cells: (quick) => [
    ...(quick ? [1000] : [10, 100, 500, 1000, 10_000]).map((users) => ({
      label: `${shown(users)} users, each writes when its last message is acknowledged`,
      users,
    })),
    { label: '10,000 users, 1,000 messages/s', users: 10_000, perSecond: 1000 },
    ...(quick ? [100] : [10, 100, 500, 1000, 10_000]).map((connections) => ({
      label: `over HTTP: wrk, ${shown(connections)} keep-alive connections`,
      connections,
    })),
  ],
  columns: columns('×acknowledged completed ×cpuPerMessage average p99 longest server redisCpu generatorCpu'),
  run: (row) => (row.cell.connections ? post(row) : correspond(row)),
};

const requests = {
  columns: columns('×perSecond ×cpuPerRequest average p99 refused server generatorCpu', {
    ...{ perSecond: 'requests/s', generatorCpu: 'wrk %' },
  }),
  run: ({ peer, cell, quick }) => runWrk(peer, { ...cell, seconds: quick ? 5 : 20 }),
};

/** Workload 1 over HTTP: wrk, 6 threads, 10,000 connections. All servers answer with the same body. */
export const http = {
  about: 'requests of wrk with 6 threads over keep-alive connections; all servers send the same responses',
  peers: {
    'http-node': { program: 'http', base: 'node' },
    'http-uws': { program: 'http', base: 'uws' },
    'gjallar-service': service({}),
  },
  cells: (quick) =>
    [
      { label: '10,000 connections, an answer of 12 bytes', path: '/healthz', connections: 10_000 },
      { label: '10,000 connections, the demo page', path: '/', connections: 10_000 },
      { label: '100 connections, an answer of 12 bytes', path: '/healthz', connections: 100 },
    ].slice(0, quick ? 1 : 3),
  ...requests,
};

const application = (base) => ({ program: 'socketio', application: 'express', base });

/** An unmodified Express application beside Socket.IO: what one of its routes costs on node:http, and through gjallar. */
export const express = {
  about: 'routes of one Express application beside Socket.IO on the same port, on node:http and on gjallar; wrk',
  peers: { 'express-node': application('ws'), 'express-gjallar': application('swap') },
  cells: (quick) =>
    [
      { label: 'GET, JSON of 17 bytes, 32 connections', path: '/small', connections: 32 },
      { label: 'GET, 1 MB, 8 connections', path: '/large', connections: 8 },
      { label: 'POST, 10 MB, 4 connections', path: '/upload', connections: 4, script: 'upload.lua' },
      { label: 'GET, JSON of 17 bytes, 1,000 connections', path: '/small', connections: 1000 },
    ].slice(0, quick ? 3 : 4),
  ...requests,
};
