import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { connect, connected, disconnectAll, expectOk, nextEvent, upgraded } from '../../test/support/clients.js';
import { HaProxy } from '../../test/support/haproxy.js';
import { metric, sumOf } from '../../test/support/metrics.js';
import { NatsProcess } from '../../test/support/nats.js';
import { readiness } from '../../test/support/reports.js';
import { type RunningServer, startServer } from '../../test/support/server.js';
import { expectOnceAndInOrder } from '../../test/support/talk.js';
import { eventually, until } from '../../test/support/until.js';

/** Two chat services on one NATS, behind a proxy without affinity. */

let nats: NatsProcess;
let servers: RunningServer[];
let proxy: HaProxy;

beforeAll(async () => {
  nats = await NatsProcess.start('authorization { user: chat, password: secret }');
  const NATS_URL = nats.url.replace('//', '//chat:secret@');
  const environment = { NATS_URL, HISTORY_TTL: '0', NATS_PREFIX: 'test', DRAIN_TIMEOUT: '0' };
  servers = await Promise.all(['2', '1'].map((WORKERS) => startServer({ ...environment, WORKERS })));
  proxy = await HaProxy.start(servers.map(({ port }) => port));
});
afterEach(disconnectAll);
afterAll(async () => {
  await proxy.remove();
  await Promise.all(servers.map((server) => server.stop()));
  await nats.remove();
});

test('members on all machines and transports hear each message once and in order, and no request fails', async () => {
  for (const { greeting } of servers) expect(greeting).toMatch(/ on the nats bus$/);
  const errors: string[] = [];
  const clients = Array.from({ length: 20 }, (_, index) =>
    connect(proxy.url, index % 2 === 0 ? {} : { transports: ['polling'] }),
  );
  for (const client of clients) client.on('connect_error', (error) => errors.push(error.message));
  await Promise.all(clients.map((client, index) => (index % 2 === 0 ? upgraded(client) : connected(client))));
  for (const client of clients) expectOk(await client.emitWithAck('join', 'hall'));
  await expectOnceAndInOrder(clients, 'hall', 5);
  expect(errors).toEqual([]);
  // Sessions on polling, whose requests come to either machine.
  const counts = ['gjallar_relayed_requests_total', 'gjallar_bus_messages_total', 'gjallar_bus_frames_total'];
  await eventually(async () => {
    const urls = servers.map(({ url }) => url);
    const [relayed, messages, frames] = await Promise.all(counts.map((name) => sumOf(urls, name)));
    expect(relayed).toBeGreaterThan(20);
    expect(messages).toBeGreaterThanOrEqual(100);
    expect(frames).toBeGreaterThan(0);
  });
});

test('a session of a machine that is gone is reported to its client at once', async () => {
  const id = '1.AAAAAAAA.AAAAAAAAAAAAAAAAAAAA';
  const before = Date.now();
  const answer = await fetch(`${servers[0]!.url}/socket.io/?EIO=4&transport=polling&sid=${id}`);
  expect([answer.status, await answer.json()]).toEqual([400, { code: 1, message: 'Session ID unknown' }]);
  expect(Date.now() - before).toBeLessThan(10_000);
});

test('an outage has one name in the log, in /readyz and in a metric; local clients stay', async () => {
  const [server, other] = servers as [RunningServer, RunningServer];
  const [local, remote] = [connect(server.url), connect(other.url)];
  await Promise.all([upgraded(local), upgraded(remote)]);
  for (const client of [local, remote]) expectOk(await client.emitWithAck('join', 'hall'));
  const problem = 'NATS is unreachable: rooms and sessions do not span machines';
  await nats.stop();
  // Each worker reports it once.
  const reports = (of: RunningServer) => of.log.filter(({ msg }) => msg === problem);
  await until(() => reports(server).length === 2 && reports(other).length === 1);
  for (const line of reports(server)) {
    expect(line).toMatchObject({ level: 'error', bus: 'nats', reason: expect.any(String) });
  }
  const ready = await readiness(server.url);
  expect(ready.state).toBe('degraded');
  await until(async () =>
    (await (await fetch(`${server.url}/metrics`)).text()).includes(`{code="BUS_UNREACHABLE",text="${problem}"`),
  );
  await until(async () => (await metric(server.url, 'gjallar_bus_up')).includes(0));
  const heard = nextEvent(local, 'message');
  expectOk(await local.emitWithAck('message', { room: 'hall', text: 'alone' }));
  expect(await heard).toMatchObject([{ text: 'alone' }]);

  await nats.start();
  await until(async () =>
    (await Promise.all(servers.map((each) => metric(each.url, 'gjallar_bus_up')))).flat().every((isUp) => isUp === 1),
  );
  const across = nextEvent(remote, 'message');
  // What is published before the other worker is known again does not arrive.
  const repeat = setInterval(() => local.emit('message', { room: 'hall', text: 'together' }), 50);
  expect(await across.finally(() => clearInterval(repeat))).toMatchObject([{ text: 'together' }]);
  expect([local.connected, remote.connected]).toEqual([true, true]);
  expect(reports(server)).toHaveLength(2);
  expect(JSON.stringify(servers.map(({ log }) => log))).not.toContain('secret');
});
