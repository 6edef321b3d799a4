import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { socketsInUse } from '../../../src/engine/uws/uws.js';
import { HaProxy } from '../../support/haproxy.js';
import { type RunningServer, startServer } from '../../support/server.js';
import { answerTo } from '../server/support/requests.js';

const CONNECTIONS = 24;
const paths = ['/healthz', '/', '/socket.io/?EIO=4&transport=polling'];

let server: RunningServer;
let proxy: HaProxy;

beforeAll(async () => {
  server = await startServer({ TRUST_PROXY: '1', WORKERS: '1' });
  // The proxy sends each request on an idle connection if it has one, and keeps them for a minute.
  proxy = await HaProxy.start(
    [server.port],
    'http-reuse always\n  option forwardfor\n  default-server pool-purge-delay 60s',
  );
});
afterAll(async () => {
  await proxy.remove();
  await server.stop();
});

const statusOf = async (port: number, path: string, headers = {}) =>
  answerTo(request({ host: '127.0.0.1', port, path, headers, agent: false }));

// node:http keeps idle connections for longer than proxies do.
const [PROXIED, DIRECT] = socketsInUse.kind === 'portable' ? ['keep-alive', 'keep-alive'] : ['close', undefined];

test.each(paths)('only native sockets end the connection of a proxy after %s', async (path) => {
  const { status, headers } = await statusOf(server.port, path, {
    Connection: 'keep-alive',
    'X-Forwarded-For': '1.2.3.4',
  });
  expect([status, headers.connection]).toEqual([200, PROXIED]);
  const direct = await statusOf(server.port, path, { Connection: 'keep-alive' });
  expect([direct.status, direct.headers.connection]).toEqual([200, DIRECT]);
});

test('no request fails at a proxy that reuses connections of any age', async () => {
  const wave = (waits: (index: number) => number) =>
    Promise.all(
      Array.from({ length: CONNECTIONS }, async (_, index) => {
        await sleep(waits(index));
        return (await statusOf(proxy.port, paths[index % paths.length]!)).status;
      }),
    );
  const all = Array.from({ length: CONNECTIONS }, () => 200);
  expect(await wave(() => 0)).toEqual(all);
  // The limit of native sockets is 10 s.
  expect(await wave((index) => 9900 + (200 * index) / CONNECTIONS)).toEqual(all);
  expect(await wave((index) => 9900 + (200 * index) / CONNECTIONS)).toEqual(all);
});
