import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { Redis as RedisClient } from 'ioredis';
import { io } from 'socket.io-client';
import { postgres as startPostgres } from '../../../test/support/databases.js';
import { DURABLE, RedisProcess } from '../../../test/support/redis.js';
import { Disk } from '../../harness/servers/disk.js';
import { BadReleases } from '../application/faults.js';
import { Service } from '../support/service.js';

/**
 * The servers of the drill, each with its faults in order.
 * @typedef {object} Fault
 * @property {string} name
 * @property {() => unknown} inject
 * @property {() => unknown} [undo] missing where the server does not come back by itself
 * @property {string} readyz a code in `problems` or `warnings`, or 'no answer'
 * @property {RegExp | string} [log] the message of a log line, or its code, if it is not that of /readyz
 * @property {string} [metric] a query that has a result, if it is not the problem; `$i` is the name of the server
 * @property {string} [alert] the name of an alert that fires, if it is not that of all problems
 * @property {RegExp} remedy what the row of the alert, or of the problem, says in the documentation
 *
 * @typedef {{ name: string, server: Service, faults: Fault[], isPatient?: boolean }} Part
 */

/** The limit of the server's processes. They keep 256 of them free. */
const DESCRIPTORS = 600;
/** How long a worker of the broken release lives once it listens, in ms: less than RELOAD_SETTLE. */
const LIFE_MS = 1000;

const start = (environment = {}, through = undefined) =>
  Service.open({ environment: { WORKERS: '1', ADMIN_PORT: '0', DRAIN_TIMEOUT: '0', ...environment }, through });
const nothing = () => {};

/** @type {Record<string, (use: import('../support/scenario.js').Use, directory: string) => Promise<Omit<Part, 'name'>>>} */
export const parts = {
  /** Redis with the documented user: its rights are taken away, then it stops. */
  async redis(use) {
    const redis = use(await RedisProcess.start(...DURABLE), 'remove');
    const docs = readFileSync(new URL('../../../docs/operations/redis.md', import.meta.url), 'utf8');
    const user = /^(ACL SETUSER gjallar .*)$/m.exec(docs)[1].split(' ');
    const call = async (...words) => {
      const admin = new RedisClient(redis.url);
      await admin.call(...words);
      admin.disconnect();
    };
    const rights = (sign) =>
      call('ACL', 'SETUSER', 'gjallar', ...['psubscribe', 'subscribe', 'publish'].map((right) => sign + right));
    await call(...user);
    const server = await start({ REDIS_URL: `redis://gjallar:secret@127.0.0.1:${redis.port}` });
    const faults = [
      {
        ...{ name: 'Redis refuses a command', readyz: 'REDIS_COMMAND_REJECTED', remedy: /ACL.*gjallar doctor/ },
        ...{ inject: () => rights('-'), undo: () => rights('+') },
      },
      {
        ...{ name: 'Redis stopped', readyz: 'REDIS_UNREACHABLE', remedy: /Check that Redis runs/ },
        metric: 'gjallar_bus_up{instance="$i"} == 0 and on() gjallar_problem{instance="$i",code="REDIS_UNREACHABLE"}',
        inject: () => redis.stop(),
        undo: () => redis.start().then(() => call(...user)),
      },
    ];
    return { server, faults };
  },

  /** SQLite on a disk of its own, and an archive in PostgreSQL. */
  async data(use, directory) {
    const disk = use(new Disk(join(directory, 'disk'), '16m'), 'remove');
    const postgres = use(await startPostgres(), 'remove');
    const server = await start({ DATA_DIR: join(disk.path, 'data'), ARCHIVE_URL: postgres.url });
    const client = use(io(server.url, { forceNew: true }), 'disconnect');
    await new Promise((resolve) => client.once('connect', resolve));
    await client.emitWithAck('join', 'hall');
    const talk = setInterval(() => client.emit('message', { room: 'hall', text: 'x'.repeat(1000) }), 50);
    use(() => clearInterval(talk));
    const faults = [
      {
        ...{ name: 'archive down', readyz: 'ARCHIVE_FAILS', remedy: /Check the database of `ARCHIVE_URL`/ },
        metric: 'gjallar_archive_failures_total{instance="$i"} > 0',
        ...{ inject: () => postgres.kill(), undo: () => postgres.start() },
      },
      {
        ...{ name: 'disk full', readyz: 'STORE_FAILS', remedy: /check free space/ },
        metric: 'gjallar_history_failures_total{instance="$i",code="HISTORY_REFUSED"} > 0',
        ...{ inject: () => disk.fill(), undo: () => disk.free() },
      },
    ];
    return { server, faults };
  },

  /** One client that floods, and then more connections than the process may have. */
  async clients() {
    const server = await start({}, ['prlimit', `--nofile=${DESCRIPTORS}`]);
    const sockets = [];
    const faults = [
      {
        ...{ name: 'one client floods', readyz: 'CLIENT_FLOODS', log: /^a client was disconnected$/ },
        metric: 'gjallar_connections_closed_total{instance="$i",reason="rate limit"} > 0',
        ...{ alert: 'GjallarFloods', remedy: /Block the address/, undo: nothing },
        inject: async () => {
          const client = io(server.url, { forceNew: true, transports: ['websocket'], reconnection: false });
          await new Promise((resolve) => client.once('connect', resolve));
          const ended = new Promise((resolve) => client.once('disconnect', resolve));
          // Twice what RATE_LIMIT lets a client send at once.
          for (let sent = 0; sent < 10_000; sent++) client.emit('echo', sent);
          await ended;
        },
      },
      {
        ...{ name: 'descriptors used up', readyz: 'NO_DESCRIPTORS', remedy: /ulimit -n/ },
        ...{ metric: 'gjallar_connections_turned_away_total{instance="$i"} > 0', alert: 'GjallarNoDescriptors' },
        inject: () => {
          for (let count = 0; count < DESCRIPTORS; count++)
            sockets.push(connect(server.port, '127.0.0.1').on('error', nothing));
        },
        undo: () => {
          for (const socket of sockets) socket.destroy();
        },
      },
    ];
    return { server, faults };
  },

  /** A release whose workers end soon after they have started; then a primary that is killed. */
  async release(use) {
    const release = use(new BadReleases(), 'remove');
    const server = await start({ ...release.environment, RELOAD_SETTLE: '5s' });
    const reload = () => process.kill(server.primary, 'SIGHUP');
    const faults = [
      {
        ...{ name: 'broken release', readyz: 'RELOAD_ABORTED', log: /^reload aborted/, remedy: /Correct the release/ },
        ...{ metric: 'gjallar_reloads_total{instance="$i",outcome="aborted"} > 0', alert: 'GjallarReloadAborted' },
        inject: () => {
          release.install({ fault: 'exit', at: LIFE_MS });
          reload();
        },
        undo: () => {
          release.install({ fault: 'none' });
          reload();
        },
      },
      {
        ...{ name: 'primary killed', readyz: 'no answer', log: /^the primary is gone/ },
        ...{ metric: 'up{instance="$i"} == 0', alert: 'GjallarMachineDown', remedy: /systemd unit starts it again/ },
        inject: () => process.kill(server.primary, 'SIGKILL'),
      },
    ];
    return { server, faults };
  },

  /** A worker that hangs. The primary kills it after 10 s: not in the short form. */
  async processes() {
    const server = await start({ WORKERS: '2' });
    const hangs = {
      ...{ name: 'worker stopped', readyz: 'WORKER_SILENT', log: /^a worker does not respond and is killed$/ },
      // A scrape in the 10 s may time out at the worker that hangs. The count of the replaced ones stays.
      metric: 'gjallar_worker_up{instance="$i",worker="1"} == 0 or gjallar_worker_deaths_total{instance="$i"} > 0',
      ...{ alert: 'GjallarWorkerReplaced', remedy: /no sign of life for 10 s/, undo: nothing },
      inject: () => process.kill(server.pids.get(1), 'SIGSTOP'),
    };
    return { server, isPatient: true, faults: [hangs] };
  },
};
