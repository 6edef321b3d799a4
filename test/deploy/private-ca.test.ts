import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { connect, disconnectAll, expectOk } from '../support/clients.js';
import { atEnd } from '../support/ends.js';
import { temporaryFolder } from '../support/folder.js';
import { freePort } from '../support/ports.js';
import { RedisProcess, until } from '../support/redis.js';
import { startSentinel } from '../support/sentinel.js';
import { runToEnd, startServer } from '../support/server.js';

const folder = temporaryFolder();
const file = (name: string) => join(folder, name);
const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'ignore' });
let redis: RedisProcess;
let environment: Record<string, string>;

/** A Redis that speaks TLS alone, with a certificate of an authority that no system trusts. */
beforeAll(async () => {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  openssl('req', '-x509', ...key, '-days', '2', '-subj', '/CN=private CA', '-keyout', 'ca.key', '-out', 'ca.crt');
  openssl('req', ...key, '-subj', '/CN=redis', '-keyout', 'redis.key', '-out', 'redis.csr');
  writeFileSync(file('names'), 'subjectAltName=DNS:localhost,IP:127.0.0.1');
  const authority = ['-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2', '-extfile', 'names'];
  openssl('x509', '-req', '-in', 'redis.csr', ...authority, '-out', 'redis.crt');
  const port = await freePort();
  const files = ['--tls-cert-file', file('redis.crt'), '--tls-key-file', file('redis.key')];
  const only = ['--tls-ca-cert-file', file('ca.crt'), '--tls-auth-clients', 'no'];
  redis = await RedisProcess.start('--tls-port', String(port), ...files, ...only);
  environment = { REDIS_URL: `rediss://localhost:${port}`, WORKERS: '1', DRAIN_TIMEOUT: '0' };
});
afterEach(disconnectAll);
afterAll(async () => {
  await redis?.remove();
});

test('with NODE_EXTRA_CA_CERTS, the server trusts the private CA of Redis', async () => {
  const trusting = { ...environment, NODE_EXTRA_CA_CERTS: file('ca.crt') };
  const server = await startServer(trusting);
  atEnd(disconnectAll, () => server.stop());
  const readiness = async () => (await fetch(`${server.url}/readyz`)).json();
  await until(async () => ((await readiness()) as { state: string }).state === 'ready');
  expect(await readiness()).toMatchObject({ problems: [] });
  const client = await connect(server.url);
  expectOk(await client.emitWithAck('join', 'hall'));
  expectOk(await client.emitWithAck('message', { room: 'hall', text: 'over TLS' }));
});

test('Sentinel with TLS names a master with TLS', async () => {
  const { REDIS_URL: url } = environment as { REDIS_URL: string };
  const tls = [
    `tls-cert-file ${file('redis.crt')}`,
    `tls-key-file ${file('redis.key')}`,
    `tls-ca-cert-file ${file('ca.crt')}`,
  ];
  const settings = ['port 0', ...tls, 'tls-auth-clients no', 'tls-replication yes'];
  const sentinel = await startSentinel(folder, Number(new URL(url).port), 1, (port) => [
    ...settings,
    `tls-port ${port}`,
  ]);
  const REDIS_URL = `rediss-sentinel://${sentinel.address}/chat`;
  const trusting = { ...environment, NODE_EXTRA_CA_CERTS: file('ca.crt'), REDIS_URL };
  const { stdout } = await runToEnd(['doctor'], { ...trusting, HOST: '127.0.0.1', PORT: '0' });
  expect(stdout).toContain('ok    Redis "chat" of Sentinel answers');
});

test('without it, gjallar doctor names the certificate', async () => {
  const { code, stdout } = await runToEnd(['doctor'], { ...environment, HOST: '127.0.0.1', PORT: '0' });
  expect(code).toBe(1);
  expect(stdout).toMatch(/^fail {2}Redis .*(certificate|issuer)/m);
});
