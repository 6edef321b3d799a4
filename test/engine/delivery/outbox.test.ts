import { afterEach, expect, test } from '@jest/globals';
import { Outbox } from '../../../src/engine/delivery/outbox.js';
import type { NativeWebSocket } from '../../../src/engine/http/exchange.js';
import type { Session } from '../../../src/engine/session/session.js';
import type { WebSocketTransport } from '../../../src/engine/transports/websocket.js';
import { TestClock } from '../support/clock.js';
import { closeEngines, eventOf, startEngine } from '../support/engine.js';
import { closeWebSockets, openPolling, openWebSocket } from '../support/raw.js';

afterEach(() => {
  closeWebSockets();
  closeEngines();
});

function webSocketOf(session: Session): NativeWebSocket {
  return (session.transport as WebSocketTransport).webSocket as NativeWebSocket;
}

test('what is held for a client that goes meanwhile is forgotten, and the others get theirs', async () => {
  const clock = new TestClock();
  const { engine, url, nextSession } = await startEngine({ flushMs: 1000 }, { clock });
  const opened: [ReturnType<typeof openWebSocket>, Session][] = [];
  for (let i = 0; i < 2; i++) {
    const session = nextSession();
    const client = openWebSocket(url);
    await client.next();
    opened.push([client, await session]);
  }
  const [[going, gone], [staying, session]] = opened as [(typeof opened)[0], (typeof opened)[0]];
  for (const one of [gone, session]) webSocketOf(one).subscribe('topic');
  // The first goes at once, and makes the second wait for the clock.
  engine.outbox.publish('topic', '4first', false, false);
  clock.advance(0);
  expect(await staying.next()).toBe('4first');
  engine.outbox.publish('topic', '4second', false, false);
  engine.outbox.publish('topic', '4third', false, false, [webSocketOf(gone)]);
  gone.send('to the one that goes');
  session.send('to the one that stays');
  expect(gone.bufferedAmount).toBeGreaterThan(0);
  going.socket.terminate();
  await eventOf(gone, 'close');
  clock.advance(1000);
  expect(await staying.next()).toBe('4second');
  expect(await staying.next()).toBe('4third');
  expect(await staying.next()).toBe('4to the one that stays');
});

test('other senders share the window: a lone message leaves at once, and what follows leaves together', () => {
  const clock = new TestClock();
  const outbox = new Outbox({ publish: () => true, numSubscribers: () => 0 }, 25, clock);
  const flushed: string[] = [];
  const senders = ['first', 'second'].map((name) =>
    outbox.share(() => {
      flushed.push(name);
      return 0.5;
    }),
  );
  senders[0]!();
  clock.advance(0);
  expect(flushed.splice(0)).toEqual(['first']);
  // A flush that took half a millisecond is followed by a window of ten.
  for (const hold of [...senders, ...senders]) hold();
  clock.advance(9);
  expect(flushed).toEqual([]);
  clock.advance(1);
  expect(flushed).toEqual(['first', 'second']);
});

/** Opens a session, and holds something for another sender. Calls back when that is sent. */
async function startHolding(onFlush: () => void) {
  const clock = new TestClock();
  const { engine, url, nextSession } = await startEngine({ flushMs: 1000 }, { clock });
  const opened = nextSession();
  const hold = engine.outbox.share(() => {
    onFlush();
    return 0;
  });
  return { clock, url, opened, hold };
}

test('a message to one client leaves after what another sender was given before it', async () => {
  const sent: string[] = [];
  const { clock, url, opened, hold } = await startHolding(() => {
    sent.push(`a frame, while ${session.bufferedAmount} bytes wait`);
    session.send('given meanwhile');
  });
  const client = openWebSocket(url);
  await client.next();
  const session = await opened;
  session.send('at once');
  expect(session.bufferedAmount).toBe(0);
  hold();
  session.send('reply');
  expect(sent).toEqual([]);
  clock.advance(0);
  expect(sent).toEqual(['a frame, while 6 bytes wait']);
  for (const text of ['at once', 'reply', 'given meanwhile']) expect(await client.next()).toBe(`4${text}`);
});

test('the response to a poll leaves after what another sender was given before it', async () => {
  const sent: string[] = [];
  const { clock, url, opened, hold } = await startHolding(() => {
    sent.push('a frame');
  });
  const client = await openPolling(url);
  const session = await opened;
  const isWaiting = eventOf(session.transport as never, 'headers');
  const poll = client.poll().then(([, body]) => sent.push(body));
  hold();
  session.send('reply');
  await isWaiting;
  // A rejection does not wait. What was sent before it has arrived.
  expect((await fetch(`${client.url}0`)).status).toBe(400);
  expect(sent).toEqual([]);
  clock.advance(0);
  await poll;
  expect(sent).toEqual(['a frame', '4reply']);
});

/** An outbox whose sockets take `ms` for each message to a room. */
function slowOutbox(ms: number) {
  const clock = new TestClock();
  const sent: string[] = [];
  const publish = (_topic: string, message: string | Uint8Array) => {
    clock.stall(ms);
    return sent.push(String(message)) > 0;
  };
  const outbox = new Outbox({ publish, numSubscribers: () => 1000 }, 25, clock);
  const say = (message: string) => outbox.publish('topic', message, false, false);
  const socket = { send: (message: string) => sent.push(message), cork: (send: () => void) => send() } as never;
  return { clock, sent, outbox, say, socket };
}

test('what takes longer than a turn may is sent in several turns, in order with what is for one client', () => {
  const { clock, sent, outbox, say, socket } = slowOutbox(60);
  for (const text of ['a', 'b']) say(text);
  outbox.send(socket, 'one', false, false);
  outbox.afterHeld(() => sent.push('done'));
  for (const text of ['c', 'd']) say(text);
  expect(outbox.heldFor(socket)).toBe(3);
  clock.advance(0);
  expect(sent).toEqual(['a', 'b']);
  expect(outbox.heldFor(socket)).toBe(3);
  say('e');
  clock.advance(0);
  expect(sent).toEqual(['a', 'b', 'one', 'done', 'c', 'd']);
  expect(outbox.heldFor(socket)).toBe(0);
  outbox.flush();
  expect(sent.at(-1)).toBe('e');
  expect([outbox.isHolding, outbox.lateMs, outbox.deliveries]).toEqual([false, 0, 5000]);
});

test('a message is late by the age of those before it, or by what they cost', () => {
  const { clock, outbox, say } = slowOutbox(60);
  say('x'.repeat(1000));
  expect(outbox.lateMs).toBeCloseTo(1.8);
  clock.stall(10);
  expect(outbox.lateMs).toBe(10);
  for (let n = 0; n < 99; n++) say('x'.repeat(1000));
  expect(outbox.lateMs).toBeCloseTo(180);
});

test('what has waited for a second is sent in one turn, so that senders wait instead', () => {
  const { clock, sent, say } = slowOutbox(60);
  for (let n = 0; n < 5; n++) say('x');
  clock.stall(1000);
  clock.advance(0);
  expect(sent).toHaveLength(5);
});
