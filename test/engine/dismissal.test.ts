import { once } from 'node:events';
import { afterEach, describe, expect, test } from '@jest/globals';
import { WebSocket } from 'ws';
import type { Session } from '../../src/engine/session/session.js';
import { startWorker, stopWorkers } from '../cluster/support/workers.js';
import { atEnd } from '../support/ends.js';
import { TestClock } from './support/clock.js';
import { closeEngines, eventOf, startEngine } from './support/engine.js';
import { closeWebSockets, openPolling } from './support/raw.js';
import { upgradeAt } from './support/upgrade.js';

/** A dismissed client reconnects. */

afterEach(() => {
  closeWebSockets();
  closeEngines();
});

const unknown = [400, '{"code":1,"message":"Session ID unknown"}'];

describe('on a WebSocket, a dismissed client', () => {
  /** A client that answers pings only when the test says so. */
  async function startSilent(clock?: TestClock) {
    const { url, engine, nextSession } = await startEngine({}, { clock });
    const opened = nextSession();
    const socket = new WebSocket(`${url.replace('http', 'ws')}&transport=websocket`, { autoPong: false });
    const received: string[] = [];
    socket.on('message', (data) => received.push(String(data)));
    socket.on('ping', () => received.push('ping'));
    const closed = new Promise<number>((resolve) => socket.once('close', resolve));
    const session = await opened;
    return { engine, socket, session, received, closed };
  }

  test('is cut off without a close frame, once it has shown that it has read everything', async () => {
    const { socket, session, received, closed, engine } = await startSilent();
    const ended = eventOf<[string]>(session, 'close');
    const pinged = once(socket, 'ping');
    session.send('last words');
    session.dismiss();
    session.send('too late');
    expect((await ended)[0]).toBe('forced close');
    expect(engine.clientsCount).toBe(0);
    await pinged;
    expect(socket.readyState).toBe(WebSocket.OPEN);
    expect(received.slice(1)).toEqual(['4last words', 'ping']);
    socket.pong();
    expect(await closed).toBe(1006);
    expect(engine.closing.size).toBe(0);
  });

  test('gets everything first, however much waits for it', async () => {
    const { socket, session, received, closed } = await startSilent();
    await once(socket, 'message');
    socket.pause();
    const text = 'x'.repeat(100_000);
    let sent = 0;
    for (; session.bufferedAmount === 0; sent++) session.send(text);
    session.dismiss();
    socket.on('ping', () => socket.pong());
    socket.resume();
    expect(await closed).toBe(1006);
    expect(received.filter((message) => message === `4${text}`)).toHaveLength(sent);
  });

  test('is cut off after 10 s if it does not answer', async () => {
    const clock = new TestClock();
    const { socket, session, closed } = await startSilent(clock);
    const pinged = once(socket, 'ping');
    session.dismiss();
    await pinged;
    clock.advance(9999);
    expect(socket.readyState).toBe(WebSocket.OPEN);
    clock.advance(200);
    expect(await closed).toBe(1006);
  });

  test('may have its connection on another worker', async () => {
    atEnd(() => stopWorkers());
    const owner = await startWorker();
    const holder = await startWorker();
    const opened = new Promise<Session>((resolve) => owner.engine.once('connection', resolve));
    const polling = await openPolling(owner.url);
    await polling.post('40');
    const session = await opened;
    expect((await polling.poll())[1]).toMatch(/^40/);
    const client = await upgradeAt(holder.url, polling, session);
    session.send('last words');
    session.dismiss();
    expect([await client.next(), await client.next()]).toEqual(['4last words', undefined]);
    expect(await client.closed).toBe(1006);
  });
});

describe('on polling, a dismissed client', () => {
  async function startPolling() {
    const { url, engine, nextSession } = await startEngine();
    const opened = nextSession();
    const client = await openPolling(url);
    return { client, engine, session: await opened };
  }

  test('learns with its waiting poll that its session is unknown, and gets no close packet', async () => {
    const { client, session, engine } = await startPolling();
    const ended = eventOf<[string]>(session, 'close');
    const poll = client.poll();
    while (!session.transport.writable) await new Promise(setImmediate);
    session.dismiss();
    expect(await poll).toEqual(unknown);
    expect((await ended)[0]).toBe('forced close');
    expect(engine.clientsCount).toBe(0);
    expect(await client.poll()).toEqual(unknown);
  });

  test('gets what waits for it first', async () => {
    const { client, session } = await startPolling();
    session.send('last words');
    session.dismiss();
    session.send('too late');
    expect(await client.poll()).toEqual([200, '4last words']);
    expect(await client.poll()).toEqual(unknown);
  });

  test('learns it with its next poll if nothing waits', async () => {
    const { client, session } = await startPolling();
    session.dismiss();
    expect(await client.poll()).toEqual(unknown);
  });
});
