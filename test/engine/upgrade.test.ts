import type { EventEmitter } from 'node:events';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { EngineOptions } from '../../src/engine/options.js';
import { closeEngines, eventOf, startEngine } from './support/engine.js';
import { closeWebSockets, openPolling, openWebSocket } from './support/raw.js';

afterEach(() => {
  closeWebSockets();
  closeEngines();
});

/** An engine that sends everything back, and a session on polling. */
async function startEcho(options: EngineOptions = {}) {
  const { engine, url, nextSession } = await startEngine(options);
  const opened = nextSession();
  const client = await openPolling(url);
  const session = await opened;
  session.on('data', (data: string) => session.send(data));
  return { engine, client, session, probe: () => openWebSocket(`${url}&sid=${client.sid}`) };
}

describe('an upgrade', () => {
  test('moves the session: probe, the last poll, upgrade', async () => {
    const { client, session, probe } = await startEcho();
    const poll = client.poll();
    const candidate = probe();
    await eventOf(candidate.socket, 'open');
    candidate.send('2probe');
    expect(await candidate.next()).toBe('3probe');
    expect(await poll).toEqual([200, '6']);
    expect([session.upgrading, session.upgraded, session.transport.name]).toEqual([true, false, 'polling']);
    const upgraded = eventOf(session, 'upgrade');
    candidate.send('5');
    candidate.send('4hello');
    expect(await candidate.next()).toBe('4hello');
    await upgraded;
    expect([session.upgrading, session.upgraded, session.transport.name]).toEqual([false, true, 'websocket']);
    expect(await client.poll()).toEqual([400, '{"code":3,"message":"Bad request"}']);
  });

  test('loses nothing that is sent meanwhile, and keeps its order', async () => {
    const { client, session, probe } = await startEcho();
    const candidate = probe();
    await eventOf(candidate.socket, 'open');
    candidate.send('2probe');
    await candidate.next();
    session.send('1');
    expect(await client.poll()).toEqual([200, '41']);
    session.send('2');
    session.send('3');
    candidate.send('5');
    expect([await candidate.next(), await candidate.next()]).toEqual(['42', '43']);
  });

  test('waits for a poll that comes after the probe, and ends it soon', async () => {
    const { client, probe } = await startEcho();
    const candidate = probe();
    await eventOf(candidate.socket, 'open');
    candidate.send('2probe');
    await candidate.next();
    expect(await client.poll()).toEqual([200, '6']);
    expect(await client.poll()).toEqual([200, '6']);
  });

  test('overtaken by a poll leaves it waiting, and refuses it once the session has moved', async () => {
    const { engine, client, session, probe } = await startEcho();
    const candidate = probe();
    await eventOf(candidate.socket, 'open');
    candidate.send('2probe');
    await candidate.next();
    const arrived = new Promise<void>((resolve) => {
      engine.use((_request, _response, next) => {
        next();
        resolve();
      });
    });
    const late = client.poll();
    await arrived;
    candidate.send('5');
    candidate.send('4fence');
    expect(await candidate.next()).toBe('4fence');
    expect(session.transport.name).toBe('websocket');
    expect(await late).toEqual([400, '{"code":3,"message":"Bad request"}']);
  });

  test('that is not completed in time ends the candidate, and the session goes on with polling', async () => {
    const { client, session, probe } = await startEcho({ upgradeTimeout: 20 });
    const candidate = probe();
    await candidate.closed;
    expect(session.upgrading).toBe(false);
    await client.post('4still here');
    expect(await client.poll()).toEqual([200, '4still here']);
  });

  test.each([['4data'], ['3probe'], ['2'], ['nonsense']])('fails with %j in the place of the probe', async (packet) => {
    const { client, session, probe } = await startEcho();
    const candidate = probe();
    await eventOf(candidate.socket, 'open');
    candidate.send(packet);
    await candidate.closed;
    expect(session.upgrading).toBe(false);
    await client.post('4still here');
    expect(await client.poll()).toEqual([200, '4still here']);
  });

  test('that failed can be tried again', async () => {
    const { session, probe } = await startEcho();
    const first = probe();
    await eventOf(first.socket, 'open');
    const upgrading = eventOf<[EventEmitter]>(session, 'upgrading');
    first.send('2probe');
    const [transport] = await upgrading;
    const failed = eventOf(transport, 'close');
    first.socket.terminate();
    await failed;
    const second = probe();
    await eventOf(second.socket, 'open');
    second.send('2probe');
    expect(await second.next()).toBe('3probe');
    second.send('5');
    second.send('4again');
    expect(await second.next()).toBe('4again');
    expect(session.upgraded).toBe(true);
  });

  test('is tried by one WebSocket at a time: others are closed', async () => {
    const { session, probe } = await startEcho();
    const candidate = probe();
    await eventOf(candidate.socket, 'open');
    expect(await probe().closed).toBe(1005);
    candidate.send('2probe');
    await candidate.next();
    candidate.send('5');
    await eventOf(session, 'upgrade');
    expect(await probe().closed).toBe(1005);
    candidate.send('4hello');
    expect(await candidate.next()).toBe('4hello');
  });

  test('ends with the session', async () => {
    const { session, probe } = await startEcho();
    const candidate = probe();
    await eventOf(candidate.socket, 'open');
    candidate.send('2probe');
    await candidate.next();
    session.close(true);
    await candidate.closed;
    expect([session.readyState, session.upgrading]).toEqual(['closed', false]);
  });

  test('of a session that is closing closes it in order', async () => {
    const { session, probe } = await startEcho();
    const candidate = probe();
    await eventOf(candidate.socket, 'open');
    candidate.send('2probe');
    await candidate.next();
    session.send('last words');
    session.close();
    const closed = eventOf<[string]>(session, 'close');
    candidate.send('5');
    expect(await candidate.next()).toBe('4last words');
    expect(await closed).toEqual(['forced close', undefined]);
    await candidate.closed;
  });
});
