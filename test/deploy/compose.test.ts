import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { loadConfig } from '../../src/host/config/load.js';
import { connect, disconnectAll, expectOk } from '../support/clients.js';
import { temporaryFolder } from '../support/folder.js';
import { freePort } from '../support/ports.js';
import { type RunningServer, startServer } from '../support/server.js';
import { until } from '../support/until.js';
import { fileOf, read, wrongVariables } from './support.js';

interface Service {
  image: string;
  environment?: Record<string, string>;
  secrets?: string[];
  volumes?: string[];
  healthcheck: { test: string[] };
  [key: string]: unknown;
}

/** Without an engine for containers: the configuration is held to the server, and what it starts runs without containers. */
const folder = 'deploy/compose';
const { services, secrets, volumes } = parse(read(`${folder}/compose.yaml`), { merge: true }) as {
  services: Record<string, Service>;
  secrets: Record<string, { file: string }>;
  volumes: Record<string, unknown>;
};
const seconds = (text: unknown) => Number(/^(\d+)s$/.exec(String(text))![1]);
const gjallar = services['gjallar-1']!;

test.each(Object.entries(services))('%s is hardened and watched', (name, service) => {
  expect(service.image).toMatch(name.startsWith('gjallar') ? /^gjallar:local$/ : /:v?\d+\.\d+\.\d+(-\w+)?$/);
  expect(service).toMatchObject({
    read_only: true,
    cap_drop: ['ALL'],
    security_opt: ['no-new-privileges:true'],
    healthcheck: { test: expect.any(Array) },
  });
  for (const secret of service.secrets ?? []) expect(secrets).toHaveProperty(secret);
  for (const [source] of (service.volumes ?? []).map((volume) => volume.split(':') as [string])) {
    if (source.startsWith('.')) expect(existsSync(fileOf(`${folder}/${source}`))).toBe(true);
    else expect(volumes).toHaveProperty(source);
  }
});

test('both servers have time to drain, and variables that the server knows', () => {
  const { environment = {} } = gjallar;
  expect(services['gjallar-2']!.environment).toEqual(environment);
  expect(wrongVariables(environment)).toEqual([]);
  const { drainTimeout, adminHost } = loadConfig({ DRAIN_TIMEOUT: environment.DRAIN_TIMEOUT, ADMIN_HOST: '0.0.0.0' });
  expect(seconds(gjallar.stop_grace_period) * 1000).toBeGreaterThanOrEqual(drainTimeout + 10_000);
  expect(environment.ADMIN_HOST).toBe(adminHost);
  for (const [name, value] of Object.entries(environment)) {
    if (name.endsWith('_FILE')) expect(gjallar.secrets).toContain(value.replace('/run/secrets/', ''));
  }
});

test('HAProxy, Prometheus and Grafana name servers and ports that exist', () => {
  const ports = { public: '3000', admin: gjallar.environment!.ADMIN_PORT };
  const { scrape_configs } = parse(read(`${folder}/prometheus.yml`));
  const names = ['gjallar-1', 'gjallar-2'];
  expect(scrape_configs[0].static_configs[0].targets).toEqual(names.map((name) => `${name}:${ports.admin}`));
  expect(scrape_configs[0].job_name).toBe('gjallar');
  expect(scrape_configs[0].basic_auth.username).toBe(gjallar.environment!.ADMIN_USER);
  for (const name of names) expect(read('deploy/haproxy/haproxy.cfg')).toContain(`${name}:${ports.public}`);
  const hardStop = seconds(/hard-stop-after (\S+)/.exec(read('deploy/haproxy/haproxy.cfg'))![1]);
  expect(seconds(services.haproxy!.stop_grace_period)).toBeGreaterThan(hardStop);
  const { datasources } = parse(read(`${folder}/grafana/datasources.yaml`));
  expect(datasources[0]).toMatchObject({ type: 'prometheus', url: 'http://prometheus:9090' });
  const { providers } = parse(read(`${folder}/grafana/dashboards.yaml`));
  expect(services.grafana!.volumes!.join()).toContain(`gjallar.json:${providers[0].options.path}/gjallar.json`);
});

let directory: string;
let redis: ChildProcess;
let haproxy: ChildProcess;
let server: RunningServer;
let proxyPort: number;

/** What the containers would see, with places and ports of this machine. */
const here = (text: string, pairs: Record<string, string>) =>
  Object.entries(pairs).reduce((all, [from, to]) => {
    expect(all).toContain(from);
    return all.replaceAll(from, to);
  }, text);

async function runs(child: ChildProcess, command: string[]): Promise<void> {
  const [program, ...args] = command;
  await until(() => child.exitCode !== null || spawnSync(program!, args).status === 0);
  expect(child.exitCode).toBeNull();
}

beforeAll(async () => {
  directory = temporaryFolder();
  cpSync(fileOf(folder), directory, { recursive: true });
  execFileSync(join(directory, 'make-secrets.sh'));
  const secret = (name: string) => join(directory, 'secrets', name);
  const redisPort = await freePort();

  writeFileSync(
    secret('redis-url'),
    here(readFileSync(secret('redis-url'), 'utf8'), { 'redis:6379': `127.0.0.1:${redisPort}` }),
  );
  const pairs = { 'dir /data': `dir ${directory}`, '/run/secrets': join(directory, 'secrets') };
  writeFileSync(join(directory, 'redis.conf'), `port ${redisPort}\n${here(read(`${folder}/redis.conf`), pairs)}`);
  redis = spawn('redis-server', [join(directory, 'redis.conf')], { stdio: 'ignore' });
  const [, check] = services.redis!.healthcheck.test;
  await runs(redis, ['sh', '-c', here(check!, { $$: '$', '/run/secrets': join(directory, 'secrets') })]);

  const adminPort = await freePort();
  const moved = { ADMIN_HOST: '127.0.0.1', ADMIN_PORT: `${adminPort}`, DRAIN_TIMEOUT: '0' };
  const environment = Object.entries({ ...gjallar.environment, ...moved });
  server = await startServer(
    Object.fromEntries(
      environment.map(([name, value]) => [name, value.replace('/run/secrets', join(directory, 'secrets'))]),
    ),
  );
  const [, node, flag, code] = gjallar.healthcheck.test;
  await runs(server.process, [node!, flag!, here(code!, { ':3001': `:${adminPort}` })]);

  proxyPort = await freePort();
  const config = here(read('deploy/haproxy/haproxy.cfg'), {
    'gjallar-1:3000': `127.0.0.1:${server.port}`,
    'gjallar-2:3000': `127.0.0.1:${server.port}`,
    'bind :80\n': `bind 127.0.0.1:${proxyPort}\n`,
  });
  writeFileSync(join(directory, 'haproxy.cfg'), config);
  haproxy = spawn('haproxy', ['-db', '-f', join(directory, 'haproxy.cfg')], {
    env: { PATH: `${process.env.PATH}:/usr/sbin` },
    stdio: 'ignore',
  });
  const [, bash, option, script] = services.haproxy!.healthcheck.test;
  await runs(haproxy, [bash!, option!, here(script!, { '127.0.0.1/80': `127.0.0.1/${proxyPort}` })]);
});

afterAll(async () => {
  disconnectAll();
  for (const child of [haproxy, redis]) {
    if (!child || child.exitCode !== null) continue;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  await server?.stop();
});

// The health checks have passed before.
test('with its environment, secrets and Redis, the server serves clients behind HAProxy', async () => {
  const answer = await fetch(`http://127.0.0.1:${proxyPort}/readyz`);
  expect(await answer.json()).toMatchObject({ state: 'ready', problems: [] });
  const client = await connect(`http://127.0.0.1:${proxyPort}`);
  expectOk(await client.emitWithAck('join', 'hall'));
  expectOk(await client.emitWithAck('message', { room: 'hall', text: 'hello' }));
  expectOk(await client.emitWithAck('history', { room: 'hall', after: 0, limit: 1 }));
});

test('the secret of Prometheus opens the metrics', async () => {
  const password = readFileSync(join(directory, 'secrets', 'admin-password'), 'utf8');
  const metrics = (headers: Record<string, string>) => fetch(`${server.url}/metrics`, { headers });
  expect((await metrics({})).status).toBe(401);
  expect((await metrics({ Authorization: `Basic ${btoa(`ops:${password}`)}` })).status).toBe(200);
});

test('the user of Redis has the rights that docs/operations/redis.md lists', () => {
  const [, listed] = /^ACL SETUSER gjallar on >secret (.*)$/m.exec(read('docs/operations/redis.md'))!;
  const users = readFileSync(join(directory, 'secrets', 'redis-users'), 'utf8');
  expect(/^user gjallar on >\w+ (.*)$/m.exec(users)?.[1]).toBe(listed);
});
