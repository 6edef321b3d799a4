// Starts a server program once or several times, with a Redis or NATS of its own between the copies where it needs one. This
// process stays idle: what is measured are the processes that it has started.

import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { NatsProcess } from '../../test/support/nats.js';
import { RedisProcess } from '../../test/support/redis.js';
import { program as gjallar, ON_LOOPBACK, RunningService, WITHOUT_LIMITS } from '../../test/support/service.js';
import { familyOf } from '../harness/process/processes.js';
import { SIGNAL } from './support/collect.cjs';
import { orders, settings, unavailable } from './support/control.js';

const { service, workers = 1, nodes = 1, bus, redis = nodes > 1 && bus !== 'nats', env, nodeFlags } = settings;
/** Those levels of the log that are shown. */
const ERRORS = ['error', 'fatal'];
const fileOf = (name) => fileURLToPath(new URL(`programs/${name}.js`, import.meta.url));
const collector = fileURLToPath(new URL('support/collect.cjs', import.meta.url));
const told = { SETTINGS: JSON.stringify(settings) };

/** What is started, with its environment and its arguments. */
const services = {
  /** The chat that `npm start` runs. It keeps no history, as the chats that it is compared with, unless the row asks for it. */
  gjallar: () => ({
    main: gjallar,
    env: { WORKERS: String(workers), BUS: bus ?? 'auto', ...(settings.history ? {} : { HISTORY_TTL: '0' }) },
  }),
  /** The same on stock socket.io. */
  socketio: () => ({ main: fileOf('socketio-chat'), env: told }),
  /** An application of applications.js under `gjallar run`. */
  hosted: () => ({
    main: gjallar,
    args: ['run', fileOf('hosted'), '--workers', String(workers)],
    env: { BUS: bus ?? (nodes > 1 ? 'redis-frames' : 'auto'), ...WITHOUT_LIMITS, ...told },
  }),
  /** An application that forks workers itself. */
  cluster: () => ({ main: fileOf('cluster'), env: told }),
};

const started = [];
let isDeploying = false;
const pidsOfAll = () => started.flatMap(({ process: { pid } }) => familyOf(pid));
process.on('exit', () => {
  for (const pid of pidsOfAll()) kill(pid);
  for (const { data } of started) rmSync(data, { recursive: true, force: true });
});
process.on('SIGTERM', () => process.exit());

function kill(pid) {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has gone by itself.
  }
}

const brokers = {
  redis: () => redis && RedisProcess.start(),
  nats: () => bus === 'nats' && NatsProcess.start(),
};
const urls = {};
const helpers = {};
let missing;
for (const [name, start] of Object.entries(brokers)) {
  const broker = await Promise.resolve(start()).catch(() => null);
  if (broker === null) missing = `${name}-server is not installed`;
  if (!broker) continue;
  for (const prefix of ['', 'GJALLAR_']) urls[`${prefix}${name.toUpperCase()}_URL`] = broker.url;
  helpers[name] = broker.pid;
}
if (missing) unavailable(missing);
else await startNodes();

async function startNodes() {
  const { env: own, ...program } = services[service]();
  const ports = [];
  for (let node = 0; node < nodes; node++) {
    const running = new RunningService({
      ...program,
      nodeOptions: [...nodeFlags, ...(settings.collects ? ['--expose-gc', '--require', collector] : [])],
      env: { ...process.env, ...ON_LOOPBACK, LOG_LEVEL: 'info', ...urls, ...own, ...env },
      onLine: (line, _stream, entry) =>
        (entry ? ERRORS.includes(entry.level) : !line.includes(' listens on ')) && console.error(line),
      onSpawn: (child) => child.once('exit', () => isDeploying || process.exit(1)),
    });
    started.push(running);
    await running.start();
    ports.push(running.port);
  }
  const pids = pidsOfAll();
  orders.memory = async () => {
    if (!settings.collects) throw new Error('this peer does not collect garbage on demand');
    for (const pid of pids) process.kill(pid, SIGNAL);
    await sleep(1000);
    return {};
  };
  /** The workers of a machine are replaced one by one; a server without workers, and one of several machines, starts again. */
  orders.deploy = async () => {
    isDeploying = true;
    for (const running of started) await (nodes === 1 && workers > 1 ? running.reload() : running.restart());
    isDeploying = false;
  };
  process.send({ ready: true, ports, pids, helpers });
}
