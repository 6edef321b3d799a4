import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { type ChatClient, connect, connected, disconnectAll, upgraded } from '../../support/clients.js';
import { HaProxy } from '../../support/haproxy.js';
import { sumOf } from '../../support/metrics.js';
import { RedisProcess, until } from '../../support/redis.js';
import { readiness } from '../../support/reports.js';
import { type RunningServer, startServer } from '../../support/server.js';
import { eventually } from '../../support/until.js';
import { RelaySpy } from '../support/relay-spy.js';

const CLIENTS = 20;
const MESSAGES = 10;
/** Of each machine. */
const WORKERS = [4, 1, 1];
const ALL_WORKERS = 6;

let redis: RedisProcess;
let servers: RunningServer[];
let proxy: HaProxy;

beforeAll(async () => {
  redis = await RedisProcess.start();
  servers = await Promise.all(
    WORKERS.map((workers) =>
      startServer({ WORKERS: String(workers), REDIS_URL: redis.url, HISTORY_TTL: '0', DRAIN_TIMEOUT: '0' }),
    ),
  );
  proxy = await HaProxy.start(servers.map(({ port }) => port));
});
beforeEach(async () => {
  // A test kills this machine.
  if (servers[2]!.process.signalCode !== null) {
    await servers[2]!.restart();
    await until(async () => machinesOf(await openSessions(servers.length)).size === servers.length);
  }
  // The end of the sessions of other tests may still be told between machines.
  await nothingRelayed();
});
afterEach(disconnectAll);
afterAll(async () => {
  await proxy.remove();
  await Promise.all(servers.map((server) => server.stop()));
  await redis.remove();
});

/** Clients of the proxy, and what goes wrong with them. */
function connectAll(options: Parameters<typeof connect>[1] = {}) {
  const errors: string[] = [];
  const clients = Array.from({ length: CLIENTS }, () => {
    const client = connect(proxy.url, { reconnectionDelay: 10, reconnectionDelayMax: 100, ...options });
    client.on('connect_error', (error) => errors.push(error.message));
    client.on('disconnect', (reason) => errors.push(reason));
    return client;
  });
  return { clients, errors };
}

/** Each client sends messages, one after the other, and each is acknowledged. */
async function talk(clients: readonly ChatClient[]): Promise<void> {
  await Promise.all(
    clients.map(async (client) => {
      for (let number = 0; number < MESSAGES; number++) expect(await client.emitWithAck('echo', number)).toBe(number);
    }),
  );
}

/** Waits until each client is connected again and gets a message acknowledged. */
async function talkAgain(clients: readonly ChatClient[]): Promise<void> {
  await Promise.all(
    clients.map((client) =>
      until(async () => {
        await connected(client).catch(() => {});
        return client
          .timeout(30_000)
          .emitWithAck('echo', 'again')
          .then(
            (answer) => answer === 'again',
            () => false,
          );
      }),
    ),
  );
}

/** The messages between machines meanwhile. */
async function relayedDuring(act: () => Promise<void>): Promise<number> {
  const spy = await RelaySpy.start(redis.url);
  try {
    await act();
    return await spy.messages();
  } finally {
    spy.close();
  }
}

const urls = () => servers.map(({ url }) => url);

/** How often the workers have said that they reach other machines. */
const timesUp = () => servers.flatMap(({ log }) => log).filter(({ msg }) => msg === 'the backplane is up').length;

const nothingRelayed = () => until(async () => (await sumOf(urls(), 'gjallar_relayed_connections')) === 0);

/** The ids of new sessions, each at the machine that the proxy chooses. */
async function openSessions(count: number): Promise<string[]> {
  const url = `${proxy.url}/socket.io/?EIO=4&transport=polling`;
  const answers = await Promise.all(Array.from({ length: count }, async () => (await fetch(url)).text()));
  return answers.map((answer) => (JSON.parse(answer.slice(1)) as { sid: string }).sid);
}

const machinesOf = (ids: readonly string[]) => new Set(ids.map((id) => id.split('.')[1]));

test('a machine has at most three connections to Redis, however many workers it has', async () => {
  const admin = new Redis(redis.url);
  // Redis may not have noticed yet that those of other tests are closed.
  await eventually(async () => {
    const connections = String(await admin.call('CLIENT', 'LIST'))
      .trim()
      .split('\n');
    // Those of all machines, and this one.
    expect(connections.length).toBeLessThanOrEqual(3 * servers.length + 1);
  });
  admin.disconnect();
});

test('a session id names the worker and the machine, and has 120 random bits besides', async () => {
  const ids = await openSessions(30);
  for (const id of ids) expect(id).toMatch(/^[1-4]\.[\w-]{8}\.[\w-]{20}$/);
  expect(machinesOf(ids).size).toBe(3);
});

test('for clients that begin with a WebSocket, nothing is relayed', async () => {
  const { clients, errors } = connectAll({ transports: ['websocket'] });
  const messages = await relayedDuring(async () => {
    await Promise.all(clients.map(connected));
    await talk(clients);
  });
  expect(errors).toEqual([]);
  expect(messages).toBe(0);
});

test('default clients connect through a proxy without affinity, and nothing is relayed after their upgrade', async () => {
  const { clients, errors } = connectAll();
  const messages = await relayedDuring(async () => {
    await Promise.all(clients.map(upgraded));
    await talk(clients);
  });
  expect(messages).toBeGreaterThan(CLIENTS);
  // The end of an upgrade may still be told between machines.
  await until(async () => (await relayedDuring(() => talk(clients))) === 0);
  expect(errors).toEqual([]);
  // Two of three WebSockets come to another machine than the handshake.
  const isFromMachine = { labels: 'from="machine"' };
  await until(async () => (await sumOf(urls(), 'gjallar_relay_moved_sessions_total', isFromMachine)) > CLIENTS / 4);
});

test('clients that stay on polling are served by whichever machine their requests come to', async () => {
  const { clients, errors } = connectAll({ transports: ['polling'] });
  await Promise.all(clients.map(connected));
  await talk(clients);
  expect(errors).toEqual([]);
  disconnectAll();
  await nothingRelayed();
});

test('without its Redis a request for another machine is rejected, its own clients stay, and all is well later', async () => {
  const onWebSocket = connectAll();
  const onPolling = connectAll({ transports: ['polling'] });
  await Promise.all([...onWebSocket.clients.map(upgraded), ...onPolling.clients.map(connected)]);
  const workersDown = () => {
    const lines = servers
      .flatMap(({ log }) => log)
      .filter(({ bus, level }) => bus === 'redis-frames' && level === 'error');
    return new Set(lines.map(({ pid }) => pid)).size;
  };
  await redis.stop();
  await until(() => workersDown() === ALL_WORKERS);
  await talk(onWebSocket.clients);
  const { problems } = await readiness(servers[1]!.url);
  expect(problems).toContainEqual('Redis is unreachable: rooms and sessions do not span machines');
  await until(() => onPolling.errors.length > 0);
  const before = timesUp();
  await redis.start();
  await until(() => timesUp() >= before + ALL_WORKERS);
  await talkAgain(onPolling.clients);
  expect(onWebSocket.errors).toEqual([]);
});

test('the clients of a killed machine reconnect to the others', async () => {
  const onWebSocket = connectAll();
  const onPolling = connectAll({ transports: ['polling'] });
  const clients = [...onWebSocket.clients, ...onPolling.clients];
  await Promise.all([...onWebSocket.clients.map(upgraded), ...onPolling.clients.map(connected)]);
  const exit = once(servers[2]!.process, 'exit');
  servers[2]!.process.kill('SIGKILL');
  await exit;
  await talkAgain(clients);
  expect(clients.length).toBeGreaterThan(onWebSocket.errors.length);
});
