import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { copyPem } from '../../support/pem.js';
import { freePort } from '../../support/ports.js';
import { RedisCluster, RedisProcess } from '../../support/redis.js';
import { readiness } from '../../support/reports.js';
import { type RunningServer, startServer } from '../../support/server.js';
import { until } from '../../support/until.js';

const undoing: (() => unknown)[] = [];
afterEach(async () => {
  for (const undo of undoing.splice(0).reverse()) await undo();
});

async function overTls() {
  const folder = await mkdtemp(join(tmpdir(), 'gjallar-limit-'));
  undoing.push(() => rm(folder, { recursive: true, force: true }));
  const [key, cert, port] = [join(folder, 'key.pem'), join(folder, 'cert.pem'), await freePort()];
  copyPem(key, cert);
  const files = ['--tls-cert-file', cert, '--tls-key-file', key, '--tls-ca-cert-file', cert];
  const redis = await RedisProcess.start('--tls-port', `${port}`, ...files, '--tls-auth-clients', 'no');
  undoing.push(() => redis.remove());
  return { nodes: [redis], url: `rediss://localhost:${port}`, NODE_EXTRA_CA_CERTS: cert };
}

async function onCluster() {
  const cluster = await RedisCluster.start();
  undoing.push(() => cluster.remove());
  return { nodes: cluster.processes, url: cluster.url };
}

test.each([
  ['over TLS', overTls],
  ['on a cluster', onCluster],
])(
  'a Redis %s that accepts no more clients is not called unreachable',
  async (_how, start) => {
    const { nodes, url, ...environment } = await start();
    const admins = nodes.map(({ port }) => new Redis(port, '127.0.0.1'));
    undoing.push(() => admins.map((admin) => admin.disconnect()));
    const server: RunningServer = await startServer({ WORKERS: '1', REDIS_URL: url, ...environment });
    undoing.push(() => server.stop());
    const problems = async () => (await readiness(server.url)).problems;
    await until(async () => (await problems()).length === 0);

    for (const admin of admins) await admin.config('SET', 'maxclients', '1');
    for (const admin of admins) {
      await admin.call('CLIENT', 'KILL', 'TYPE', 'NORMAL', 'SKIPME', 'yes');
      await admin.call('CLIENT', 'KILL', 'TYPE', 'PUBSUB');
    }
    const full = 'Redis accepts no more connections (max number of clients): ';
    await until(async () => {
      const now = await problems();
      return now.length === 3 && now.every((problem) => problem.startsWith(full));
    });

    for (const admin of admins) await admin.config('SET', 'maxclients', '1000');
    await until(async () => (await problems()).length === 0);
    const reasons = server.log.filter(({ msg, level }) => level === 'error' && msg?.startsWith('Redis'));
    expect(reasons.length).toBeGreaterThan(0);
  },
  120_000,
);
