import { afterEach, expect, test } from '@jest/globals';
import { connect, connected, disconnectAll, nextEvent, upgraded } from '../support/clients.js';
import { freePorts } from '../support/ports.js';
import { runToEnd } from '../support/server.js';
import { until } from '../support/until.js';
import { type RunningApplication, runApp, stopAll } from './support/application.js';

afterEach(async () => {
  disconnectAll();
  await stopAll();
}, 60_000);

async function start(env: Record<string, string> = {}) {
  const first = await freePorts(2);
  const app = await runApp('chat.mjs', {
    args: ['--place', 'room'],
    env: { WORKER_PORTS: String(first), ...env },
  });
  return { app, urls: [first, first + 1].map((port) => `http://127.0.0.1:${port}`) as [string, string] };
}

/** The clients of both workers by their place, as the metrics say. */
async function places({ admin }: RunningApplication, by = 'room'): Promise<Record<string, number>> {
  const text = await (await fetch(`${admin}/metrics`)).text();
  const counts: Record<string, number> = {};
  for (const [, labels, count] of text.matchAll(/^gjallar_placed_clients\{(.*)\} (\d+)$/gm)) {
    expect(labels).toContain(`by="${by}"`);
    const place = /place="(\w+)"/.exec(labels!)![1]!;
    counts[place] = (counts[place] ?? 0) + Number(count);
  }
  return counts;
}

test('a client is in its place where the newest client of its key came to', async () => {
  const { app, urls } = await start();
  const query = { room: 'doc-42' };
  const expectPlaces = (expected: Record<string, number>) =>
    until(async () => JSON.stringify(await places(app)) === JSON.stringify(expected));
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
}, 60_000);

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
  expect(await places(app)).toEqual({ in: 2, out: 0, none: 0 });
}, 60_000);

test('placeBy finds the key in code', async () => {
  const app = await runApp('place-by.mjs');
  const clients = ['x-room', 'x-other'].map((name) => connect(app.url, { extraHeaders: { [name]: 'doc-42' } }));
  await Promise.all(clients.map(connected));
  await until(async () => JSON.stringify(await places(app, '')) === JSON.stringify({ in: 1, out: 0, none: 1 }));
}, 60_000);

test('PLACE sets the ports of the workers, and what doctor --proxy prints', async () => {
  const { code, stdout } = await runToEnd(['doctor', '--proxy', 'haproxy'], { PLACE: 'doc', WORKERS: '2' });
  expect(code).toBe(0);
  expect(stdout).toContain('url_param(doc)');
  expect(stdout.match(/server 127\S+/g)).toEqual(['server 127.0.0.1:3001', 'server 127.0.0.1:3002']);
});
