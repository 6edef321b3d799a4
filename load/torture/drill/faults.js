import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis as RedisClient } from 'ioredis';
import { io } from 'socket.io-client';
import { Disk } from '../../harness/servers/disk.js';
import { Postgres } from '../../harness/servers/postgres.js';
import { Redis } from '../../harness/servers/redis.js';
import { Station } from './station.js';

/**
 * The servers of the drill, each with its faults in order.
 * @typedef {{ name: string, signals: import('./signals.js').Signals,
 *   inject: (signal: AbortSignal) => Promise<unknown>, undo?: () => Promise<unknown> | void }} Fault `undo` is missing where
 *   the server does not come back by itself
 * @typedef {{ station: Station, faults: Fault[], isPatient?: boolean }} Part
 * @typedef {{ directory: string, atEnd: (undo: () => unknown) => void }} Workplace
 */

/** The limit of the server's processes. They keep 256 of them free. */
const DESCRIPTORS = 600;

/** Redis with the documented user: its rights are taken away, then it stops. @param {Workplace} place @returns {Promise<Part>} */
export async function redisPart({ atEnd }) {
  const redis = await Redis.start();
  atEnd(() => redis.stop());
  const docs = readFileSync(new URL('../../../docs/operations/redis.md', import.meta.url), 'utf8');
  const [, line] = /^(ACL SETUSER gjallar .*)$/m.exec(docs);
  const call = async (...words) => {
    const admin = new RedisClient(redis.url);
    await admin.call(...words);
    admin.disconnect();
  };
  await call(...line.split(' '));
  const { port } = new URL(redis.url);
  const environment = { REDIS_URL: `redis://gjallar:secret@127.0.0.1:${port}` };
  const station = await Station.start({ name: 'redis', environment });
  return {
    station,
    faults: [
      {
        name: 'Redis refuses a command',
        inject: () => call('ACL', 'SETUSER', 'gjallar', '-psubscribe', '-subscribe', '-publish'),
        undo: () => call('ACL', 'SETUSER', 'gjallar', '+psubscribe', '+subscribe', '+publish'),
        signals: {
          readyz: 'REDIS_COMMAND_REJECTED',
          log: 'REDIS_COMMAND_REJECTED',
          metric: 'gjallar_problem{instance="$i",code="REDIS_COMMAND_REJECTED"}',
          alert: { alertname: 'GjallarProblem', code: 'REDIS_COMMAND_REJECTED' },
          remedy: /ACL.*gjallar doctor/,
        },
      },
      {
        name: 'Redis stopped',
        inject: () => redis.kill(),
        undo: async () => {
          await redis.restart();
          await call(...line.split(' '));
        },
        signals: {
          readyz: 'REDIS_UNREACHABLE',
          log: 'REDIS_UNREACHABLE',
          metric: 'gjallar_bus_up{instance="$i"} == 0 and on() gjallar_problem{instance="$i",code="REDIS_UNREACHABLE"}',
          alert: { alertname: 'GjallarProblem', code: 'REDIS_UNREACHABLE' },
          remedy: /Check that Redis runs/,
        },
      },
    ],
  };
}

/** SQLite on a disk of its own, and an archive in PostgreSQL. @returns {Promise<Part>} */
export async function dataPart({ directory, atEnd }) {
  const disk = new Disk(join(directory, 'disk'), '16m');
  atEnd(() => disk.remove());
  const postgres = await Postgres.start(join(directory, 'archive'));
  atEnd(() => postgres.kill());
  const station = await Station.start({
    name: 'data',
    environment: { DATA_DIR: join(disk.path, 'data'), ARCHIVE_URL: postgres.url },
  });
  const client = io(station.url, { forceNew: true });
  atEnd(() => client.disconnect());
  await new Promise((resolve) => client.once('connect', resolve));
  await client.emitWithAck('join', 'hall');
  const faults = [
    {
      name: 'archive down',
      inject: () => postgres.kill(),
      undo: () => postgres.begin(),
      signals: {
        readyz: 'ARCHIVE_FAILS',
        log: 'ARCHIVE_FAILS',
        metric: 'gjallar_archive_failures_total{instance="$i"} > 0',
        alert: { alertname: 'GjallarProblem', code: 'ARCHIVE_FAILS' },
        remedy: /Check the database of `ARCHIVE_URL`/,
      },
    },
    {
      name: 'disk full',
      inject: async (signal) => {
        disk.fill();
        void (async () => {
          while (!signal.aborted) {
            client.emit('message', { room: 'hall', text: 'x'.repeat(1000) });
            await sleep(50);
          }
        })();
      },
      undo: () => disk.free(),
      signals: {
        readyz: 'STORE_FAILS',
        log: 'STORE_FAILS',
        metric: 'gjallar_history_failures_total{instance="$i",code="HISTORY_REFUSED"} > 0',
        alert: { alertname: 'GjallarProblem', code: 'STORE_FAILS' },
        remedy: /check free space/,
      },
    },
  ];
  return { station, faults };
}

/** One client that floods, and then more connections than the process may have. @returns {Promise<Part>} */
export async function clientsPart() {
  const station = await Station.start({ name: 'clients', prefix: ['prlimit', `--nofile=${DESCRIPTORS}`] });
  const sockets = [];
  return {
    station,
    faults: [
      {
        name: 'one client floods',
        inject: async () => {
          const client = io(station.url, { forceNew: true, transports: ['websocket'], reconnection: false });
          await new Promise((resolve) => client.once('connect', resolve));
          const ended = new Promise((resolve) => client.once('disconnect', resolve));
          // Twice what RATE_LIMIT lets a client send at once.
          for (let sent = 0; sent < 10_000; sent++) client.emit('echo', sent);
          await ended;
        },
        undo: () => {},
        signals: {
          readyz: 'CLIENT_FLOODS',
          log: /^a client was disconnected$/,
          metric: 'gjallar_connections_closed_total{instance="$i",reason="rate limit"} > 0',
          alert: { alertname: 'GjallarFloods' },
          remedy: /Block the address/,
        },
      },
      {
        name: 'descriptors used up',
        inject: async () => {
          for (let count = 0; count < DESCRIPTORS; count++) {
            const socket = connect(station.port, '127.0.0.1');
            socket.on('error', () => {});
            sockets.push(socket);
          }
        },
        undo: () => {
          for (const socket of sockets) socket.destroy();
        },
        signals: {
          readyz: 'NO_DESCRIPTORS',
          log: 'NO_DESCRIPTORS',
          metric: 'gjallar_connections_turned_away_total{instance="$i"} > 0',
          alert: { alertname: 'GjallarNoDescriptors' },
          remedy: /ulimit -n/,
        },
      },
    ],
  };
}

/** A worker that hangs, and a primary that is killed. @returns {Promise<Part>} */
export async function processesPart() {
  const station = await Station.start({ name: 'processes', environment: { WORKERS: '2' } });
  return {
    station,
    isPatient: true,
    faults: [
      {
        name: 'worker stopped',
        // The primary kills it after 10 s.
        inject: async () => process.kill(station.pids.get(1), 'SIGSTOP'),
        undo: () => {},
        signals: {
          readyz: 'WORKER_SILENT',
          log: /^a worker does not respond and is killed$/,
          // A scrape in the 10 s may time out at the worker that hangs. The count of the replaced ones stays.
          metric: 'gjallar_worker_up{instance="$i",worker="1"} == 0 or gjallar_worker_deaths_total{instance="$i"} > 0',
          alert: { alertname: 'GjallarWorkerReplaced' },
          remedy: /no sign of life for 10 s/,
        },
      },
      primaryKilled(station),
    ],
  };
}

/** The last fault of a server: it does not come back by itself. @returns {Fault} */
export function primaryKilled(station) {
  return {
    name: 'primary killed',
    inject: async () => process.kill(station.primary, 'SIGKILL'),
    signals: {
      readyz: 'no answer',
      log: /^the primary is gone/,
      metric: 'up{instance="$i"} == 0',
      alert: { alertname: 'GjallarMachineDown' },
      remedy: /systemd unit starts it again/,
    },
  };
}

/** Why the faults cannot all be injected here, or undefined where they can. */
export function whyNoFaults() {
  return process.getuid() === 0 ? undefined : 'a disk of its own needs root';
}
