import { once } from 'node:events';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { NativeWebSocket } from '../../src/engine/http/exchange.js';
import type { EngineOptions } from '../../src/engine/options.js';
import type { Session } from '../../src/engine/session/session.js';
import type { WebSocketTransport } from '../../src/engine/transports/websocket.js';
import { TestClock } from './support/clock.js';
import { closeEngines, eventOf, startEngine } from './support/engine.js';
import { pacedSend } from './support/paced-send.js';
import { closeWebSockets, openPolling, openWebSocket } from './support/raw.js';

const LIMIT = 100_000;
const PADDING = 'x'.repeat(10_000);

afterEach(() => {
  closeWebSockets();
  closeEngines();
});

/** A client on a WebSocket that has stopped reading. */
async function startStopped(options: EngineOptions, clock?: TestClock) {
  const { engine, url, nextSession } = await startEngine({ maxBackpressure: LIMIT, ...options }, { clock });
  const opened = nextSession();
  const client = openWebSocket(url);
  const session = await opened;
  await client.next();
  client.socket.pause();
  return { engine, client, session, closed: eventOf<[string, unknown]>(session, 'close') };
}

/** Sends until more waits than may wait. Returns how many messages that took. */
function fill(session: Session): number {
  let sent = 0;
  while (session.bufferedAmount <= LIMIT) session.send(`${sent++} ${PADDING}`);
  return sent;
}

const expected = (count: number) => Array.from({ length: count }, (_, number) => `4${number} ${PADDING}`);

async function read(client: ReturnType<typeof openWebSocket>, count: number): Promise<unknown[]> {
  const messages: unknown[] = [];
  while (messages.length < count) messages.push(await client.next());
  return messages;
}

describe('a WebSocket whose client is too far behind', () => {
  test('is closed with a named reason, and its client gets all that was taken for it first', async () => {
    const { engine, client, session, closed } = await startStopped({});
    const sent = fill(session);
    session.send('one too many');
    expect((await closed)[0]).toBe('slow client');
    expect(engine.clientsCount).toBe(0);
    expect(engine.counters.closed['slow client']).toBe(1);
    const closeFrame = once(client.socket, 'close') as Promise<[number, Buffer]>;
    client.socket.resume();
    expect(await read(client, sent)).toEqual(expected(sent));
    const [code, reason] = await closeFrame;
    expect([code, reason.toString()]).toEqual([1013, 'SLOW_CLIENT']);
  });

  test('is cut off if its client does not read on', async () => {
    const clock = new TestClock();
    const { client, session, closed } = await startStopped({}, clock);
    fill(session);
    session.send('one too many');
    await closed;
    clock.advance(10_000);
    client.socket.resume();
    expect(await client.closed).toBe(1006);
  });

  test('is closed because of messages to its topics too, and the others receive everything', async () => {
    const { engine, url, nextSession } = await startEngine({ maxBackpressure: LIMIT });
    const sessions: Session[] = [];
    const clients = [];
    for (let i = 0; i < 4; i++) {
      const session = nextSession();
      clients.push(openWebSocket(url));
      sessions.push(await session);
      await clients[i]!.next();
      ((sessions[i]!.transport as WebSocketTransport).webSocket as NativeWebSocket).subscribe('topic');
    }
    clients[0]!.socket.pause();
    const closed = eventOf<[string]>(sessions[0]!, 'close').then(([reason]) => reason);
    let count = 0;
    while (engine.counters.closed['slow client'] === 0) {
      engine.outbox.publish('topic', `4${count} ${PADDING}`, false, false);
      // Otherwise a busy kernel may leave more than LIMIT bytes waiting for clients that do read.
      for (const client of clients.slice(1)) expect(await client.next()).toBe(`4${count} ${PADDING}`);
      count++;
    }
    expect(await closed).toBe('slow client');
    expect(engine.clientsCount).toBe(3);
  });
});

describe('a session whose client does not poll', () => {
  async function startAbsent(options: EngineOptions) {
    const { engine, url, nextSession } = await startEngine({ maxBackpressure: LIMIT, ...options });
    const opened = nextSession();
    const client = await openPolling(url);
    return { engine, client, session: await opened };
  }

  test('is closed with a named reason', async () => {
    const { engine, client, session } = await startAbsent({});
    const closed = eventOf<[string]>(session, 'close');
    fill(session);
    session.send('one too many');
    expect((await closed)[0]).toBe('slow client');
    expect(engine.clientsCount).toBe(0);
    expect((await client.poll())[0]).toBe(400);
  });

  test('is closed for many short packets too, each of which takes memory of its own', async () => {
    const { engine, session } = await startAbsent({});
    for (let sent = 0; sent < 16_386; sent++) session.send('31[]', { compress: true });
    expect(session.bufferedAmount).toBeGreaterThan(16_384 * 100);
    await new Promise((resolve) => setImmediate(resolve));
    expect(engine.counters.closed['slow client']).toBe(1);
  });
});

describe('a producer that watches the demand', () => {
  /** More than the kernel keeps for a client that does not read. */
  const COUNT = 10_000;
  const numbers = Array.from({ length: COUNT }, (_, number) => number);
  const numberOf = (message: unknown) => Number(/^4(\d+) x{1000}$/.exec(String(message))?.[1]);

  test('loses nothing of 10,000 messages to a client that stops reading, and goes on later', async () => {
    const { engine, client, session } = await startStopped({});
    const all = pacedSend(session, COUNT, LIMIT / 2);
    expect(session.bufferedAmount).toBeGreaterThan(LIMIT / 2);
    // The producer waits: whatever else happens, it is not more that waits.
    const before = session.bufferedAmount;
    await new Promise((resolve) => setImmediate(resolve));
    expect(session.bufferedAmount).toBe(before);
    client.socket.resume();
    const received = read(client, COUNT);
    expect(await all).toBeGreaterThan(0);
    expect((await received).map(numberOf)).toEqual(numbers);
    expect(engine.clientsCount).toBe(1);
  });

  test('loses nothing of 10,000 messages to a client on polling', async () => {
    const { url, nextSession } = await startEngine({ maxBackpressure: LIMIT });
    const opened = nextSession();
    const client = await openPolling(url);
    const all = pacedSend(await opened, COUNT, LIMIT / 2);
    const received: unknown[] = [];
    while (received.length < COUNT) received.push(...(await client.poll())[1].split('\x1e'));
    expect(await all).toBeGreaterThan(0);
    expect(received.map(numberOf)).toEqual(numbers);
  });
});
