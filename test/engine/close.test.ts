import { afterEach, describe, expect, test } from '@jest/globals';
import type { EngineOptions } from '../../src/engine/options.js';
import { TestClock } from './support/clock.js';
import { closeEngines, eventOf, startEngine } from './support/engine.js';
import { closeWebSockets, openPolling, openWebSocket } from './support/raw.js';

afterEach(() => {
  closeWebSockets();
  closeEngines();
});

async function startPolling(options: EngineOptions = {}, clock?: TestClock) {
  const { engine, url, nextSession } = await startEngine(options, { clock });
  const opened = nextSession();
  const client = await openPolling(url);
  const session = await opened;
  return { engine, client, session, closed: eventOf<[string, unknown]>(session, 'close') };
}

async function startWebSocket(options: EngineOptions = {}, clock?: TestClock) {
  const { engine, url, nextSession } = await startEngine(options, { clock });
  const opened = nextSession();
  const client = openWebSocket(url);
  const session = await opened;
  await client.next();
  return { engine, client, session, closed: eventOf<[string, unknown]>(session, 'close') };
}

describe('a session on polling ends', () => {
  test('when its client says so: "transport close"', async () => {
    const { engine, client, closed } = await startPolling();
    const poll = client.poll();
    expect(await client.post('1')).toEqual([200, 'ok']);
    expect((await closed)[0]).toBe('transport close');
    expect(await poll).toEqual([200, '6']);
    expect(engine.clientsCount).toBe(0);
    expect((await client.poll())[0]).toBe(400);
  });

  test('when its poll is cut off: "transport error"', async () => {
    const { client, closed, engine } = await startPolling();
    const arrived = new Promise<void>((resolve) => {
      engine.use((_request, _response, next) => {
        next();
        resolve();
      });
    });
    const abort = new AbortController();
    const poll = client.poll(abort.signal);
    await arrived;
    abort.abort();
    await expect(poll).rejects.toThrow();
    const [reason, error] = await closed;
    expect(reason).toBe('transport error');
    expect(error).toMatchObject({ message: 'poll connection closed prematurely', type: 'TransportError' });
  });

  test('when the server says so: its client is told with the next poll', async () => {
    const { client, session, closed } = await startPolling();
    session.close();
    expect(session.readyState).toBe('closing');
    expect(await client.poll()).toEqual([200, '6\x1e1']);
    expect(await closed).toEqual(['forced close', undefined]);
  });

  test('after what it has to send was sent', async () => {
    const { client, session, closed } = await startPolling();
    session.send('last words');
    session.close();
    session.send('too late');
    expect(await client.poll()).toEqual([200, '4last words']);
    expect(await client.poll()).toEqual([200, '6\x1e1']);
    expect((await closed)[0]).toBe('forced close');
  });

  test('with its engine, also while it waits for the poll that tells its client', async () => {
    const { engine, session, closed } = await startPolling();
    session.close();
    engine.close();
    expect((await closed)[0]).toBe('forced close');
    expect([session.readyState, engine.clientsCount]).toEqual(['closed', 0]);
  });

  test('at once where what it has to send is given up', async () => {
    const { client, session, closed } = await startPolling();
    session.send('never read');
    session.close(true);
    expect((await closed)[0]).toBe('forced close');
    expect((await client.poll())[0]).toBe(400);
  });

  test.each([
    ['invalid', 'abc', {}, 'parse error', [200, 'ok']],
    ['a ping, which clients do not send', '2', {}, 'transport error', [200, 'ok']],
    ['binary', '4a', { 'content-type': 'application/octet-stream' }, 'transport error', [400, '']],
  ])('when data is %s', async (_name, body, headers, reason, answer) => {
    const { client, closed } = await startPolling({ maxHttpBufferSize: 100 });
    expect(await client.post(body, headers)).toEqual(answer);
    expect((await closed)[0]).toBe(reason);
    expect((await client.poll())[0]).toBe(400);
  });

  test('when data is too large, as with stock: its client hears of an error, and so does its poll', async () => {
    const { client, closed } = await startPolling({ maxHttpBufferSize: 100 });
    const polled = client.poll();
    expect(await client.post('4'.repeat(200))).toEqual([413, '']);
    expect((await polled)[0]).toBe(400);
    expect(await closed).toEqual(['transport close', 'payload too large']);
  });
});

describe('a session on a WebSocket ends', () => {
  test('when its client says so: "transport close"', async () => {
    const { client, closed } = await startWebSocket();
    client.socket.close(4000, 'bye');
    expect(await closed).toEqual(['transport close', { code: 4000, reason: 'bye' }]);
  });

  test('when the connection is cut off: "transport close"', async () => {
    const { client, closed } = await startWebSocket();
    client.socket.terminate();
    expect((await closed)[0]).toBe('transport close');
  });

  test('when the server says so, after what it has to send was sent', async () => {
    const { client, session, closed } = await startWebSocket();
    session.send('last words');
    session.close();
    expect((await closed)[0]).toBe('forced close');
    expect([await client.next(), await client.next()]).toEqual(['4last words', undefined]);
    expect(await client.closed).toBe(1005);
  });

  test.each([
    ['no packet', 'nonsense', 'parse error'],
    ['a ping, which clients do not send', '2', 'transport error'],
    ['too large', '4'.repeat(200), 'transport error'],
  ])('when data is %s', async (_name, message, reason) => {
    const { client, closed } = await startWebSocket({ maxHttpBufferSize: 100 });
    client.send(message);
    expect((await closed)[0]).toBe(reason);
    await client.closed;
  });

  test('with its engine', async () => {
    const { engine, client, closed } = await startWebSocket();
    engine.close();
    expect((await closed)[0]).toBe('forced close');
    await client.closed;
    expect(engine.clientsCount).toBe(0);
  });
});

describe('the heartbeat', () => {
  const times = { pingInterval: 1000, pingTimeout: 400 };

  test('asks after each interval, and is content with an answer in time', async () => {
    const clock = new TestClock();
    const { client, session, engine } = await startWebSocket(times, clock);
    for (let round = 0; round < 3; round++) {
      clock.advance(1000);
      expect(await client.next()).toBe('2');
      clock.advance(399);
      const heard = eventOf(session, 'heartbeat');
      client.send('3');
      await heard;
    }
    expect(engine.clientsCount).toBe(1);
  });

  test('waits anew for its answer when something else comes first, once', async () => {
    const clock = new TestClock();
    const { client, session, closed } = await startWebSocket(times, clock);
    const say = async () => {
      const said = eventOf(session, 'data');
      client.send('4something else');
      await said;
    };
    for (const answers of [true, false]) {
      await say();
      clock.advance(1000);
      expect(await client.next()).toBe('2');
      clock.advance(300);
      await say();
      clock.advance(300);
      await say();
      clock.advance(99);
      expect(session.readyState).toBe('open');
      if (!answers) break;
      const heard = eventOf(session, 'heartbeat');
      client.send('3');
      await heard;
    }
    clock.advance(1);
    expect((await closed)[0]).toBe('ping timeout');
  });

  test.each([['websocket'], ['polling']])('ends a session on %s whose client is silent', async (transport) => {
    const clock = new TestClock();
    const { session, closed } = await (transport === 'polling' ? startPolling : startWebSocket)(times, clock);
    clock.advance(1399);
    expect(session.readyState).toBe('open');
    clock.advance(1);
    expect(session.readyState).toBe('closed');
    expect((await closed)[0]).toBe('ping timeout');
  });

  test('blames no client for the time in which the server stood still', async () => {
    const clock = new TestClock();
    const { client, session } = await startWebSocket(times, clock);
    // It asks late, and waits as long as ever.
    clock.stall(5000);
    clock.advance(0);
    clock.advance(0);
    expect(await client.next()).toBe('2');
    clock.advance(399);
    expect(session.readyState).toBe('open');
    // The answer is there before the server goes on, and is read after the deadline.
    const heard = eventOf(session, 'heartbeat');
    client.send('3');
    clock.stall(5000);
    clock.advance(0);
    await heard;
    clock.advance(0);
    expect(session.readyState).toBe('open');
  });

  test('finds a late client out when it comes back, before the timer does', async () => {
    const clock = new TestClock();
    const { client } = await startPolling({ pingInterval: 1000, pingTimeout: 20_000 }, clock);
    clock.advance(1000);
    expect(await client.poll()).toEqual([200, '2']);
    clock.setTimeout = () => ({});
    clock.advance(20_000);
    expect((await client.poll())[0]).toBe(400);
  });

  test('is the other way round in revision 3', async () => {
    const clock = new TestClock();
    const options = { ...times, allowEIO3: true };
    const { url, nextSession } = await startEngine(options, { clock, version: 3 });
    const opened = nextSession();
    const client = openWebSocket(url);
    const session = await opened;
    await client.next();
    clock.advance(1399);
    client.send('2');
    expect(await client.next()).toBe('3');
    clock.advance(1399);
    expect(session.readyState).toBe('open');
    // One timer serves all sessions, and may find a deadline a little late.
    clock.advance(1 + 50);
    expect(session.readyState).toBe('closed');
  });
});
