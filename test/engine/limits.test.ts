import { once } from 'node:events';
import { afterEach, describe, expect, test } from '@jest/globals';
import { addressKey, clientAddress } from '../../src/engine/limits/address-limits.js';
import type { EngineOptions } from '../../src/engine/options.js';
import { TestClock } from './support/clock.js';
import { closeEngines, eventOf, startEngine } from './support/engine.js';
import { closeWebSockets, openPolling, openWebSocket } from './support/raw.js';

afterEach(() => {
  closeWebSockets();
  closeEngines();
});

test.each([
  [0, '9.9.9.9', '127.0.0.1'],
  [1, undefined, '127.0.0.1'],
  [1, '9.9.9.9', '9.9.9.9'],
  [1, '1.1.1.1, 9.9.9.9', '9.9.9.9'],
  [2, '1.1.1.1, 9.9.9.9,8.8.8.8', '9.9.9.9'],
  [3, '9.9.9.9, 8.8.8.8', '9.9.9.9'],
  [1, '9.9.9.9:4711', '9.9.9.9'],
  [1, '[2001:db8::1]:4711', '2001:db8::1'],
  [1, '2001:db8::1', '2001:db8::1'],
  [1, '9.9.9.9, unknown', '127.0.0.1'],
  [2, 'nobody, 8.8.8.8', '8.8.8.8'],
])('behind %p proxies, X-Forwarded-For: %p means %p', (hops, header, address) => {
  expect(clientAddress('127.0.0.1', header, hops)).toBe(address);
});

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['::ffff:c000:201', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2::6', '2001:db8:1:2::/64'],
  ['2001:0DB8::6', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['2001:db8:1:2:3::', '2001:db8:1:2::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
])('%p is counted as %p', (address, key) => {
  expect(addressKey(address)).toBe(key);
});

test.each([
  [0, '127.0.0.1'],
  [1, '9.9.9.9'],
])('with trustProxy %p the address of a session is %p', async (trustProxy, address) => {
  const { url, nextSession } = await startEngine({ trustProxy });
  const headers = { 'X-Forwarded-For': '1.1.1.1, 9.9.9.9' };
  for (const open of [openPolling, openWebSocket]) {
    const opened = nextSession();
    await open(url, headers);
    expect((await opened).remoteAddress).toBe(address);
  }
});

describe('pages of other origins', () => {
  const status = async (options: EngineOptions, headers: Record<string, string>) => {
    const { engine, url, port } = await startEngine(options);
    const filled = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, value.replace('PORT', String(port))]),
    );
    const webSocket = await openWebSocket(url, filled).status;
    const polling = (await fetch(`${url}&transport=polling`, { headers: filled })).status;
    expect(polling).toBe(webSocket === 101 ? 200 : webSocket);
    expect(engine.counters.refused.ORIGIN_FORBIDDEN).toBe(webSocket === 101 ? 0 : 2);
    return webSocket;
  };
  const origins = ['https://a.example', 'capacitor://localhost'];

  test.each([
    [{ origin: 'https://b.example' }, 403],
    [{ origin: 'http://a.example' }, 403],
    [{ origin: 'https://a.example.b.example' }, 403],
    [{ origin: 'null' }, 403],
    [{ origin: 'http://127.0.0.1:1' }, 403],
    [{ origin: 'https://b.example', 'x-forwarded-host': 'b.example' }, 403],
    [{ origin: 'https://a.example' }, 101],
    [{ origin: 'capacitor://localhost' }, 101],
    [{ origin: 'http://127.0.0.1:PORT' }, 101],
    [{}, 101],
  ])('where two are listed, %p: %p', async (headers, expected) => {
    expect(await status({ origins }, headers as Record<string, string>)).toBe(expected);
  });

  test('the host that a page was loaded from is what a trusted proxy says', async () => {
    const headers = { origin: 'https://b.example', 'x-forwarded-host': 'b.example' };
    expect(await status({ origins, trustProxy: 1 }, headers)).toBe(101);
  });

  test('may connect where nothing is listed, as with engine.io', async () => {
    expect(await status({}, { origin: 'https://b.example' })).toBe(101);
  });

  test('may not take over a session either', async () => {
    const { url } = await startEngine({ origins });
    const { sid } = await openPolling(url);
    expect(await openWebSocket(`${url}&sid=${sid}`, { origin: 'https://b.example' }).status).toBe(403);
  });
});

describe('a client that sends more than it may', () => {
  async function start(rateLimit: EngineOptions['rateLimit']) {
    const clock = new TestClock();
    const { engine, url, nextSession } = await startEngine({ rateLimit }, { clock });
    const opened = nextSession();
    const client = openWebSocket(url);
    await client.next();
    const session = await opened;
    const over: boolean[] = [];
    session.on('data', (data: string) => {
      over.push(session.isOverLimit);
      if (data === 'fence') session.send('fence');
    });
    /** Resolves when everything sent before has arrived. */
    const fence = async () => {
      client.send('4fence');
      await client.next();
      over.pop();
    };
    return { clock, engine, client, session, over, fence };
  }

  test('is told apart, and is let go on when it has waited', async () => {
    const { clock, engine, client, over, fence } = await start({ events: { amount: 5, per: 1000 } });
    for (let i = 0; i < 7; i++) client.send('4x');
    await fence();
    expect(over).toEqual([false, false, false, false, false, true, true]);
    expect(engine.counters.overLimit).toBe(3);
    // Three were too many, with the fence; one more is paid for after four fifths of the time.
    clock.advance(800);
    client.send('4x');
    await fence();
    expect(over.at(-1)).toBe(false);
  });

  test('is closed with a named reason if it continues', async () => {
    const { engine, client, session, over } = await start({ events: { amount: 5, per: 1000 } });
    const closed = eventOf<[string]>(session, 'close');
    const closeFrame = once(client.socket, 'close') as Promise<[number, Buffer]>;
    for (let i = 0; i < 100; i++) client.send('4x');
    expect((await closed)[0]).toBe('rate limit');
    const [code, reason] = await closeFrame;
    expect([code, reason.toString()]).toEqual([1008, 'RATE_LIMITED']);
    expect(over).toHaveLength(10);
    expect(engine.counters.closed['rate limit']).toBe(1);
  });

  test('pays for each byte, where bytes are limited', async () => {
    const { client, over, fence } = await start({ bytes: { amount: 1000, per: 1000 } });
    for (let i = 0; i < 3; i++) client.send(`4${'é'.repeat(200)}`);
    await fence();
    expect(over).toEqual([false, false, true]);
  });

  test('is closed on polling too, in the middle of a payload', async () => {
    const { engine, url, nextSession } = await startEngine({ rateLimit: { events: { amount: 5, per: 1000 } } });
    const opened = nextSession();
    const client = await openPolling(url);
    const session = await opened;
    let received = 0;
    session.on('data', () => received++);
    const closed = eventOf<[string]>(session, 'close');
    await client.post(Array(1000).fill('4x').join('\x1e'));
    expect((await closed)[0]).toBe('rate limit');
    expect(received).toBeLessThanOrEqual(11);
    expect(engine.clientsCount).toBe(0);
  });
});

describe('clients of one address', () => {
  /** Resolves with the status that a new client gets, over each transport in turn. */
  const comers = (url: string) => {
    let count = 0;
    return async (address = '9.9.9.9') => {
      const headers = { 'X-Forwarded-For': address };
      if (count++ % 2 === 0) return openWebSocket(url, headers).status;
      const response = await fetch(`${url}&transport=polling`, { headers });
      await response.text();
      return response.status === 200 ? 101 : response.status;
    };
  };

  test('may not be more than so many at a time', async () => {
    const { engine, url } = await startEngine({ maxConnectionsPerIp: 3, trustProxy: 1 });
    const come = comers(url);
    for (let i = 0; i < 3; i++) expect(await come()).toBe(101);
    for (let i = 0; i < 4; i++) expect(await come()).toBe(429);
    expect(engine.counters.refused.TOO_MANY_CONNECTIONS).toBe(4);
    const refused = await fetch(`${url}&transport=polling`, { headers: { 'X-Forwarded-For': '9.9.9.9' } });
    expect(await refused.json()).toEqual({ code: 6, message: 'Too many connections from this address' });
    expect(await come('8.8.8.8')).toBe(101);
    Object.values(engine.clients)[0]!.close(true);
    expect(await come()).toBe(101);
    expect(await come()).toBe(429);
  });

  test('are counted by the network of an IPv6 address', async () => {
    const { url } = await startEngine({ maxConnectionsPerIp: 2, trustProxy: 1 });
    const come = comers(url);
    expect(await come('2001:db8::1')).toBe(101);
    expect(await come('2001:db8::2')).toBe(101);
    expect(await come('2001:db8::3')).toBe(429);
    expect(await come('2001:db8:0:1::1')).toBe(101);
  });

  test('are counted exactly, however many come while an id is awaited', async () => {
    const { engine, url } = await startEngine({ maxConnectionsPerIp: 3 });
    const generate = engine.generateId.bind(engine);
    engine.generateId = async (request) => {
      await new Promise((resolve) => setImmediate(resolve));
      return generate(request);
    };
    const statuses = await Promise.all(Array.from({ length: 20 }, () => openWebSocket(url).status));
    expect(statuses.filter((status) => status === 101)).toHaveLength(3);
  });

  test('may not come more often than so', async () => {
    const clock = new TestClock();
    const rateLimit = { connections: { amount: 4, per: 60_000 } };
    const { engine, url } = await startEngine({ rateLimit, trustProxy: 1 }, { clock });
    const come = comers(url);
    for (let i = 0; i < 4; i++) expect(await come()).toBe(101);
    for (let i = 0; i < 3; i++) expect(await come()).toBe(429);
    expect(engine.counters.refused.RATE_LIMITED).toBe(3);
    expect(await come('8.8.8.8')).toBe(101);
    clock.advance(15_000);
    expect(await come()).toBe(101);
    expect(await come()).toBe(429);
  });
});
