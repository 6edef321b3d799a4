import { afterEach, expect, test } from '@jest/globals';
import type { NativeWebSocket } from '../../../src/engine/http/exchange.js';
import type { Session } from '../../../src/engine/session/session.js';
import type { WebSocketTransport } from '../../../src/engine/transports/websocket.js';
import { TestClock } from '../support/clock.js';
import { closeEngines, eventOf, startEngine } from '../support/engine.js';
import { closeWebSockets, openWebSocket } from '../support/raw.js';

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
  webSocketOf(session).subscribe('topic');
  // The first goes at once, and makes the second wait for the clock.
  engine.outbox.publish('topic', '4first', false, false);
  clock.advance(0);
  expect(await staying.next()).toBe('4first');
  engine.outbox.publish('topic', '4second', false, false);
  gone.send('to the one that goes');
  session.send('to the one that stays');
  expect(gone.bufferedAmount).toBeGreaterThan(0);
  going.socket.terminate();
  await eventOf(gone, 'close');
  clock.advance(1000);
  expect(await staying.next()).toBe('4second');
  expect(await staying.next()).toBe('4to the one that stays');
});
