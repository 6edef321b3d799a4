import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { type ChatClient, connect, connected, disconnectAll, upgraded } from '../support/clients.js';
import { HaProxy } from '../support/haproxy.js';
import { RedisProcess, until } from '../support/redis.js';
import { type RunningServer, startServer } from '../support/server.js';

const CLIENTS = 20;
const MESSAGES = 20;

let redis: RedisProcess;
let servers: RunningServer[];
let proxy: HaProxy;

beforeAll(async () => {
  redis = await RedisProcess.start();
  const start = () => startServer({ WORKERS: '2', REDIS_URL: redis.url, HISTORY_TTL: '0' });
  servers = await Promise.all([start(), start(), start()]);
  proxy = await HaProxy.start(servers.map(({ port }) => port));
}, 30_000);
afterEach(disconnectAll);
afterAll(async () => {
  await proxy.stop();
  await Promise.all(servers.map((server) => server.stop()));
  await redis.remove();
});

/** The messages between machines so far, as another client of the same Redis sees them. */
class RelaySpy {
  private readonly redis = new Redis(redis.url);
  private count = 0;

  async listen(): Promise<this> {
    this.redis.on('pmessage', (_pattern, channel: string) => {
      if (channel.startsWith('socket.io-relay#')) this.count++;
    });
    await this.redis.psubscribe('socket.io-relay#*', 'fence');
    return this;
  }

  /** What was published before is counted. */
  async messages(): Promise<number> {
    const fence = once(this.redis, 'pmessage');
    const publisher = new Redis(redis.url);
    await publisher.publish('fence', '');
    publisher.disconnect();
    await fence;
    return this.count;
  }

  close(): void {
    this.redis.disconnect();
  }
}

/** Clients that count what goes wrong with them. */
function connectAll(count: number, options: Parameters<typeof connect>[1] = {}) {
  const errors: string[] = [];
  const clients = Array.from({ length: count }, () => {
    const client = connect(proxy.url, options);
    client.on('connect_error', (error) => errors.push(error.message));
    client.on('disconnect', (reason) => errors.push(reason));
    return client;
  });
  return { clients, errors };
}

/** Each client sends messages, one after the other, and gets each acknowledged. */
async function talk(clients: readonly ChatClient[]): Promise<void> {
  await Promise.all(
    clients.map(async (client) => {
      for (let number = 0; number < MESSAGES; number++) expect(await client.emitWithAck('echo', number)).toBe(number);
    }),
  );
}

const unknownSessions = () => sumOf('gjallar_handshakes_refused_total', 'reason="Session ID unknown"');
const relayedToMachines = () => sumOf('gjallar_relayed_requests_total', 'to="machine"');

test('a session id names the machine and the worker, and nothing of it can be guessed', async () => {
  const url = `${proxy.url}/socket.io/?EIO=4&transport=polling`;
  const answers = await Promise.all(Array.from({ length: 30 }, async () => (await fetch(url)).text()));
  const ids = answers.map((answer) => (JSON.parse(answer.slice(1)) as { sid: string }).sid);
  for (const id of ids) expect(id).toMatch(/^[12]\.[\w-]{8}\.[\w-]{20}$/);
  expect(new Set(ids.map((id) => id.split('.')[1])).size).toBe(3);
});

test('default clients connect through a proxy without affinity, and nothing is relayed after their upgrade', async () => {
  const { clients, errors } = connectAll(CLIENTS);
  await Promise.all(clients.map(upgraded));
  await talk(clients);
  expect(errors).toEqual([]);
  expect(await unknownSessions()).toBe(0);
  expect(await sumOf('gjallar_relay_moved_sessions_total', 'from="machine"')).toBeGreaterThan(0);
  expect(await sumOf('gjallar_relayed_connections')).toBe(0);
  const before = await relayedToMachines();
  expect(before).toBeGreaterThan(0);
  await talk(clients);
  expect(await relayedToMachines()).toBe(before);
});

test('clients that stay on polling are served by whichever machine their requests come to', async () => {
  const { clients, errors } = connectAll(CLIENTS, { transports: ['polling'] });
  await Promise.all(clients.map(connected));
  await talk(clients);
  expect(errors).toEqual([]);
  expect(await unknownSessions()).toBe(0);
});

test('for clients that begin with a WebSocket nothing is relayed', async () => {
  const before = await relayedToMachines();
  const { clients, errors } = connectAll(CLIENTS, { transports: ['websocket'] });
  await Promise.all(clients.map(connected));
  await talk(clients);
  expect(errors).toEqual([]);
  expect(await relayedToMachines()).toBe(before);
});
