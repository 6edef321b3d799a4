import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import WebSocket from 'ws';
import { loadRunConfig } from '../../src/config/load.js';
import { connect, connected, disconnectAll, nextEvent, upgraded } from '../support/clients.js';
import { freePorts } from '../support/ports.js';
import { runToEnd } from '../support/server.js';
import { until } from '../support/until.js';
import { pathOf, type RunningApplication, runApp, stopAll } from './support/application.js';
import { placesOf } from './support/places.js';

async function start(env: Record<string, string> = {}) {
  const first = await freePorts(2);
  const app = await runApp('chat.mjs', {
    args: ['--place', 'room'],
    env: { WORKER_PORTS: String(first), ...env },
  });
  return { app, urls: [first, first + 1].map((port) => `http://127.0.0.1:${port}`) as [string, string] };
}

/** What a client of HTTP alone reads. */
async function pollAt(url: string, more: string, body?: string): Promise<string> {
  const path = `${url}/socket.io/?EIO=4&transport=polling&room=doc-44${more}`;
  const response = await fetch(path, body === undefined ? {} : { method: 'POST', body });
  expect(response.status).toBe(200);
  return response.text();
}

describe('with PLACE', () => {
  let app: RunningApplication;
  let urls: [string, string];
  beforeAll(async () => {
    ({ app, urls } = await start());
  });
  afterAll(stopAll, 60_000);

  const expectPlaces = (expected: Record<string, number>) =>
    until(async () => JSON.stringify(await placesOf(app)) === JSON.stringify(expected));
  // Each test has a room of its own, and begins without clients.
  afterEach(async () => {
    disconnectAll();
    await expectPlaces({ in: 0, out: 0, none: 0 });
  });

  test('a client is in its place where the newest client of its key came to', async () => {
    const query = { room: 'doc-42' };
    const three = Array.from({ length: 3 }, () => connect(urls[0], { query }));
    await Promise.all([...three, connect(urls[1])].map(upgraded));
    await expectPlaces({ in: 3, out: 0, none: 1 });
    const stray = connect(urls[1], { query });
    await upgraded(stray);
    await expectPlaces({ in: 1, out: 3, none: 1 });
    // The proxy sends clients to the first worker again.
    await upgraded(connect(urls[0], { query }));
    await expectPlaces({ in: 4, out: 1, none: 1 });
    stray.disconnect();
    await expectPlaces({ in: 4, out: 0, none: 1 });
  });

  test('a client whose proxy has other workers in the middle of its handshake connects, and counts once', async () => {
    const handshake = async () => (JSON.parse((await pollAt(urls[0], '')).slice(1)) as { sid: string }).sid;
    // It stays on polling, and the rest of its requests reach another worker.
    const polling = await handshake();
    await pollAt(urls[1], `&sid=${polling}`, '40');
    expect(await pollAt(urls[1], `&sid=${polling}`)).toMatch(/^40\{"sid"/);
    // Its WebSocket reaches another worker.
    const upgrading = await handshake();
    const socket = new WebSocket(
      `${urls[1].replace('http', 'ws')}/socket.io/?EIO=4&transport=websocket&sid=${upgrading}&room=doc-44`,
    );
    await once(socket, 'open');
    socket.send('2probe');
    expect(String((await once(socket, 'message'))[0])).toBe('3probe');
    socket.send('5');
    socket.send('40');
    expect(String((await once(socket, 'message'))[0])).toMatch(/^40\{"sid"/);
    await until(async () => Object.values(await placesOf(app)).reduce((sum, count) => sum + count, 0) === 2);
    socket.close();
    await until(async () => Object.values(await placesOf(app)).reduce((sum, count) => sum + count, 0) === 1);
    // The packet `close`: otherwise it would be there until it misses a heartbeat.
    await pollAt(urls[1], `&sid=${polling}`, '1');
  });

  test('a client that names the room in a way that the proxy does not read has no key', async () => {
    await upgraded(connect(urls[0], { query: { room: 'doc-45' } }));
    const queries = ['%72oom=doc-45', 'room=x&room=doc-45', 'room[]=doc-45', 'ROOM=x&room=doc-45'];
    const sockets = queries.map(
      (query) => new WebSocket(`${urls[1].replace('http', 'ws')}/socket.io/?EIO=4&transport=websocket&${query}`),
    );
    await Promise.all(sockets.map((socket) => once(socket, 'message')));
    await expectPlaces({ in: 1, out: 0, none: 4 });
    for (const socket of sockets) socket.terminate();
  });
});

describe('with settings of its own', () => {
  afterEach(async () => {
    disconnectAll();
    await stopAll();
  });

  test('PLACE_MOVES disconnects the clients that the proxy would send elsewhere now, and no others', async () => {
    const { app, urls } = await start({ PLACE_MOVES: 'true' });
    const options = { query: { room: 'doc-42' }, reconnection: false };
    const old = Array.from({ length: 3 }, () => connect(urls[0], options));
    const other = connect(urls[0], { query: { room: 'doc-43' }, reconnection: false });
    await Promise.all([...old, other].map(connected));
    const gone = Promise.all(old.map((client) => nextEvent(client, 'disconnect')));
    const newest = connect(urls[1], options);
    await connected(newest);
    expect((await gone).map(([reason]) => reason)).toEqual(old.map(() => 'transport close'));
    expect([other.connected, newest.connected]).toEqual([true, true]);
    expect(await placesOf(app)).toEqual({ in: 2, out: 0, none: 0 });
  });

  test('placeBy finds the key in code', async () => {
    const app = await runApp('parts/place-by.mjs', { env: { WORKERS: '1' } });
    const clients = ['x-room', 'x-other'].map((name) => connect(app.url, { extraHeaders: { [name]: 'doc-42' } }));
    await Promise.all(clients.map(connected));
    await until(async () => JSON.stringify(await placesOf(app, '')) === JSON.stringify({ in: 1, out: 0, none: 1 }));
  });

  test('a session has no key if its WebSocket names another one, which the proxy sends to another worker', async () => {
    const { app, urls } = await start({ PLACE_MOVES: 'true' });
    await upgraded(connect(urls[0], { query: { room: 'doc-42' } }));
    for (const query of ['room=doc-43', '']) {
      const { sid } = JSON.parse((await pollAt(urls[0], '')).slice(1)) as { sid: string };
      const socket = new WebSocket(
        `${urls[1].replace('http', 'ws')}/socket.io/?EIO=4&transport=websocket&sid=${sid}&${query}`,
      );
      await once(socket, 'open');
      socket.send('2probe');
      await once(socket, 'message');
      socket.send('5');
    }
    await until(async () => JSON.stringify(await placesOf(app)) === JSON.stringify({ in: 1, out: 0, none: 2 }));
  });
});

test.each([
  ['EIO', 'none of EIO'],
  ['SID', 'none of EIO'],
  ['transport', 'none of EIO'],
  ['room[]', 'letters, digits and underscores'],
])('PLACE=%s is rejected', (name, reason) => {
  expect(() => loadRunConfig({ PLACE: name, WORKERS: '1' })).toThrow(reason);
});

test('a PLACE that is rejected stops the start', async () => {
  const { code, stdout, stderr } = await runToEnd(['run', pathOf('chat.mjs')], { PLACE: 'EIO', WORKERS: '1' });
  expect([code === 0, `${stdout}${stderr}`.includes('none of EIO')]).toEqual([false, true]);
});

test('PLACE sets the ports of the workers, and what doctor --proxy prints', async () => {
  const { code, stdout } = await runToEnd(['doctor', '--proxy', 'haproxy'], { PLACE: 'doc', WORKERS: '2' });
  expect(code).toBe(0);
  expect(stdout).toContain('url_param(doc)');
  expect(stdout.match(/server 127\S+/g)).toEqual(['server 127.0.0.1:3001', 'server 127.0.0.1:3002']);
});
