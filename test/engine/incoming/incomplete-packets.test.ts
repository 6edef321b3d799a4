import { afterEach, describe, expect, test } from '@jest/globals';
import { Server, type Socket } from 'socket.io';
import type { EngineOptions } from '../../../src/engine/options.js';
import { createAdapter, parser } from '../../../src/index.js';
import { until } from '../../support/until.js';
import { TestClock } from '../support/clock.js';
import { closeEngines, type RunningEngine, startEngine } from '../support/engine.js';
import { closeWebSockets, openPolling, openWebSocket, type RawWebSocket } from '../support/raw.js';

/** Packets of which some attachments are missing. */

const servers: Server[] = [];

afterEach(async () => {
  closeWebSockets();
  for (const io of servers.splice(0)) await io.close();
  closeEngines();
});

/** socket.io on an engine whose time passes with `clock` only. */
async function start(options: EngineOptions = {}, version: 3 | 4 = 4) {
  const clock = new TestClock();
  const running = await startEngine({ allowEIO3: true, ...options }, { clock, version });
  const io = new Server({ adapter: createAdapter(running.engine), parser });
  io.bind(running.engine);
  servers.push(io);
  const received: unknown[][] = [];
  io.on('connection', (socket: Socket) => socket.onAny((...values) => received.push(values)));
  return { ...running, clock, received };
}

/** A client in the main namespace. */
async function member(url: string, version: 3 | 4 = 4): Promise<RawWebSocket> {
  const client = openWebSocket(url);
  await client.next();
  if (version === 4) client.send('40');
  await client.next();
  return client;
}

/** Resolves when the server has read what the client has sent so far. */
async function whenRead(client: RawWebSocket): Promise<void> {
  const ponged = new Promise((resolve) => client.socket.once('pong', resolve));
  client.socket.ping();
  await ponged;
}

const holes = (count: number) => Array.from({ length: count }, (_, num) => ({ _placeholder: true, num }));
/** The head of an event with this number of attachments. */
const head = (count: number) => `45${count}-${JSON.stringify(['files', ...holes(count)])}`;

/** Resolves when the server has counted at least this number of bytes. */
const counted = ({ engine }: RunningEngine, bytes: number) => until(() => engine.incoming.total >= bytes);

/** The close frame that a client gets. */
const closeOf = (client: RawWebSocket): Promise<[number, string]> =>
  new Promise((resolve) => client.socket.on('close', (code, reason) => resolve([code, reason.toString()])));

describe.each([
  ['an event', head(10)],
  ['an acknowledgement', `4610-0${JSON.stringify(holes(10))}`],
])('%s whose attachments do not come', (_kind, text) => {
  test.each([3, 4] as const)('ends the session of a client of revision %d, although it is alive', async (version) => {
    const served = await start({}, version);
    const session = served.nextSession();
    const client = await member(served.url, version);
    const closed = closeOf(client);
    const ended = new Promise((resolve) => void session.then((one) => one.once('close', resolve)));
    client.send(text);
    await counted(served, 1024);
    // The client stays alive meanwhile.
    for (let time = 0; time < 45_000; time += 5000) {
      served.clock.advance(4999);
      client.send(version === 4 ? '3' : '2');
      await whenRead(client);
    }
    served.clock.advance(1000);
    expect(await ended).toBe('incomplete packet');
    expect(await closed).toEqual([1013, 'PACKET_INCOMPLETE']);
    expect(served.engine.counters.closed['incomplete packet']).toBe(1);
    expect([served.engine.incoming.total, served.engine.incoming.holders.size]).toEqual([0, 0]);
    expect(served.received).toEqual([]);
  });
});

test('over polling, it ends the session too', async () => {
  const served = await start();
  const session = served.nextSession();
  const client = await openPolling(served.url);
  await client.post('40');
  await client.poll();
  expect(await client.post([head(10), ...Array(9).fill(`b${'A'.repeat(40_000)}`)].join('\x1e'))).toEqual([200, 'ok']);
  const reason = new Promise((resolve) => void session.then((one) => one.once('close', resolve)));
  const { incoming } = served.engine;
  expect(incoming.total).toBeGreaterThan(9 * 30_000);
  await session;
  // A ping is due meanwhile. Its answer must be handled before time passes on.
  served.clock.advance(25_000);
  expect((await client.poll())[1]).toBe('2');
  await client.post('3');
  served.clock.advance(20_000);
  expect(await reason).toBe('incomplete packet');
  expect(incoming.total).toBe(0);
  expect((await client.poll())[0]).toBe(400);
});

test('a packet with its attachments is not larger than maxPacketSize', async () => {
  const served = await start({ maxPacketSize: 300_000 });
  const client = await member(served.url);
  const closed = closeOf(client);
  client.send(head(3));
  for (const size of [100_000, 100_000, 100_000]) client.send(Buffer.alloc(size));
  expect(await closed).toEqual([1009, 'PACKET_TOO_LARGE']);
  expect(served.engine.counters.closed['packet too large']).toBe(1);
  expect(served.engine.incoming.total).toBe(0);
  const other = await member(served.url);
  other.send(head(2));
  for (const size of [100_000, 100_000]) other.send(Buffer.alloc(size));
  await until(() => served.received.length === 1);
  expect(served.engine.incoming.total).toBe(0);
});

test('a packet has no more attachments than maxAttachments, by default 10', async () => {
  for (const [options, most] of [
    [{}, 10],
    [{ maxAttachments: 2 }, 2],
    [{ maxAttachments: 30 }, 30],
  ] as const) {
    const served = await start(options);
    const client = await member(served.url);
    const closed = closeOf(client);
    client.send(head(most));
    for (let count = 0; count < most; count++) client.send(Buffer.of(count));
    await until(() => served.received.length === 1);
    client.send(head(most + 1));
    expect(await closed).toEqual([1009, 'PACKET_TOO_LARGE']);
    // A long text is read in another way.
    const other = await member(served.url);
    const end = closeOf(other);
    other.send(head(most).replace(/]$/, `,"${'x'.repeat(2000)}"]`));
    for (let count = 0; count < most; count++) other.send(Buffer.of(count));
    await until(() => served.received.length === 2);
    other.send(head(most + 1).replace(/]$/, `,"${'x'.repeat(2000)}"]`));
    expect(await end).toEqual([1009, 'PACKET_TOO_LARGE']);
    expect(served.engine.counters.closed['packet too large']).toBe(2);
    expect(served.engine.incoming.total).toBe(0);
  }
});

test('by default, a packet may consist of four messages of the maximum size', async () => {
  const { engine } = await start({ maxHttpBufferSize: 5000 });
  expect(engine.settings.maxPacketSize).toBe(20_000);
});

test('a client with a line of 1 Mbit/s may send all attachments that fit', async () => {
  const served = await start({ maxPacketSize: 10_000_000 });
  const client = await member(served.url);
  client.send(head(10));
  await counted(served, 1024);
  const attachment = Buffer.alloc(900_000, 'x');
  for (let sent = 0; sent < 10; sent++) {
    // What 900 KB take.
    served.clock.advance(7200);
    client.send(attachment);
    if (sent < 9) await counted(served, (sent + 1) * attachment.length);
    // The client answers pings between two attachments.
    client.send('3');
    await whenRead(client);
  }
  await until(() => served.received.length === 1);
  expect(served.received[0]!.slice(1).map((data) => (data as Buffer).length)).toEqual(Array(10).fill(900_000));
  expect(served.engine.incoming.total).toBe(0);
});

test('of those that wait for attachments, the largest go first once the budget is used up', async () => {
  const served = await start({ maxBuffered: 4_000_000 });
  const sizes = [900_000, 100_000, 800_000, 50_000, 700_000];
  const clients: RawWebSocket[] = [];
  for (const size of sizes) {
    const client = await member(served.url);
    clients.push(client);
    client.send(head(10));
    for (let sent = 0; sent < 2; sent++) {
      const before = served.engine.incoming.total;
      client.send(Buffer.alloc(size));
      await until(() => served.engine.incoming.total !== before || served.engine.bufferBudget.closedIncoming > 0);
    }
  }
  // 4.4 MB wait with the first attachment of the last one. Half of the budget has to be free again.
  const survivors = () => sizes.filter((_, index) => clients[index]!.socket.readyState === clients[index]!.socket.OPEN);
  await until(() => survivors().length === 3);
  expect(survivors()).toEqual([100_000, 50_000, 700_000]);
  await until(() => served.engine.incoming.total > 1_700_000);
  expect(served.engine.incoming.total).toBeLessThan(1_800_000);
  expect(served.engine.bufferBudget.closedIncoming).toBe(2);
});

test('what an attachment keeps in memory counts, and not only its length', async () => {
  const served = await start({}, 3);
  const client = await openPolling(served.url);
  await client.poll();
  // One short attachment in a payload of 900 KB.
  const text = Buffer.from(head(2));
  const packet = (kind: number, body: Buffer) =>
    Buffer.concat([Buffer.from([kind, ...[...String(body.length)].map(Number), 255]), body]);
  const noise = packet(0, Buffer.from(`2${'x'.repeat(900_000)}`));
  const payload = Buffer.concat([packet(0, text), packet(1, Buffer.of(4, 7)), noise]);
  expect(await client.post(payload, { 'content-type': 'application/octet-stream' })).toEqual([200, 'ok']);
  expect(served.engine.incoming.total).toBeGreaterThan(0);
  expect(served.engine.incoming.total).toBeLessThan(100_000);
});

test('a long text waits as it is, because its data would take many times as much', async () => {
  const served = await start();
  const client = await member(served.url);
  const data = Array(200_000).fill({});
  client.send(`452-${JSON.stringify(['files', ...holes(2), data])}`);
  await counted(served, 600_000);
  expect(served.engine.incoming.total).toBeLessThan(700_000);
  client.send(Buffer.of(1));
  client.send(Buffer.of(2));
  await until(() => served.received.length === 1);
  expect(served.received).toEqual([['files', Buffer.of(1), Buffer.of(2), data]]);
  expect([served.engine.incoming.total, served.engine.incoming.holders.size]).toEqual([0, 0]);
});

test.each([
  ['is no packet', `451-["files",${'x'.repeat(2000)}`],
  ['announces more than ten attachments', `4511-${JSON.stringify(['files', ...holes(11), 'x'.repeat(2000)])}`],
  ['has a hole without an attachment', `451-${JSON.stringify(['files', ...holes(3), 'x'.repeat(2000)])}`],
  ['is followed by another text', `452-${JSON.stringify(['files', ...holes(2), 'x'.repeat(2000)])}`],
])('a long text that %s ends the session', async (_what, text) => {
  const served = await start();
  const client = await member(served.url);
  client.send(text);
  client.send(Buffer.of(1));
  client.send('42["next"]');
  await client.closed;
  expect(served.received).toEqual([]);
  expect([served.engine.incoming.total, served.engine.incoming.holders.size]).toEqual([0, 0]);
});

test.each([
  ['a binary packet without attachments', '450-["a"]'],
  ['attachments that are not counted', '45-["a"]'],
  ['binary data that nobody announced', Buffer.of(1)],
])('%s ends the session', async (_what, packet) => {
  const served = await start();
  const client = await member(served.url);
  client.send(packet);
  await client.closed;
  expect(served.engine.clientsCount).toBe(0);
});
