import { afterEach, expect, test } from '@jest/globals';
import { SignJWT } from 'jose';
import { WebSocket } from 'ws';
import { GjallarError } from '../../src/base/errors.js';
import { loadConfig } from '../../src/host/config/load.js';
import { allOptions } from '../../src/host/config/options.js';
import { connect, connected, disconnectAll, expectOk, nextEvent } from '../support/clients.js';
import { atEnd } from '../support/ends.js';
import { Lines } from '../support/lines.js';
import { freePort } from '../support/ports.js';
import { RedisProcess } from '../support/redis.js';
import { runToEnd } from '../support/server.js';
import { cleanEnvironment, ON_LOOPBACK, RunningService } from '../support/service.js';

/** Nothing that is secret is written anywhere, at the level that tells most. */

const MARK = 'SeCrEt';
/** A secret of its own for each place, so that a failure tells where it came from. */
const secretOf = (place: string) => `${MARK}-${place}-which-nobody-may-read-in-a-log`;

const running: RunningService[] = [];
afterEach(async () => {
  disconnectAll();
  for (const server of running.splice(0)) await server.stop();
});

/** Starts a server of which every line is read that it writes. Some of these never listen. */
function watched(environment: Record<string, string>) {
  const lines = new Lines<string>();
  const env = { ...cleanEnvironment(), ...ON_LOOPBACK, WORKERS: '1', LOG_LEVEL: 'trace', ...environment };
  const server = new RunningService({ env, onLine: (line) => lines.add(line) });
  running.push(server);
  server.start().catch(() => {});
  return {
    server,
    /** Resolves when a line fits. */
    written: (pattern: RegExp) => lines.first((line) => pattern.test(line)),
    output: () => lines.all.join('\n'),
  };
}

function expectNoSecret(output: string, more: readonly string[] = []): void {
  const leaked = output
    .split('\n')
    .filter((line) => line.includes(MARK) || more.some((secret) => line.includes(secret)));
  expect(leaked).toEqual([]);
}

test('a server in use writes no key, password or token', async () => {
  const redis = await RedisProcess.start('--requirepass', secretOf('redis'));
  const jwtSecret = secretOf('jwt');
  const token = await new SignJWT({ sub: 'ann' })
    .setProtectedHeader({ alg: 'HS256' })
    .setExpirationTime('1h')
    .sign(new TextEncoder().encode(jwtSecret));
  const { server, written, output } = watched({
    REDIS_URL: redis.url.replace('redis://', `redis://:${secretOf('redis')}@`),
    API_KEY: secretOf('api'),
    JWT_SECRET: jwtSecret,
    ADMIN_USER: 'ops',
    ADMIN_PASSWORD: secretOf('admin'),
  });
  atEnd(() => redis.remove());
  await written(/gjallar listens on http/);
  const { url } = server;
  const client = connect(url, { auth: { token }, query: { token: secretOf('query') } });
  await connected(client);
  expectOk(await client.emitWithAck('join', 'hall'));
  expectOk(await client.emitWithAck('message', { room: 'hall', text: secretOf('text') }));
  expect(await client.emitWithAck('token', secretOf('event'))).toMatchObject({ code: 'TOKEN_INVALID' });
  const stranger = connect(url, { auth: { token: secretOf('auth') } });
  await nextEvent(stranger, 'connect_error');
  for (const given of [token, secretOf('plain')]) {
    const plain = new WebSocket(`${url.replace('http', 'ws')}/hall?token=${given}`);
    plain.on('error', () => {});
    await Promise.race([nextEvent(plain, 'open'), nextEvent(plain, 'close')]);
    plain.terminate();
  }
  const basic = (password: string) => `Basic ${Buffer.from(`ops:${password}`).toString('base64')}`;
  for (const authorization of [`Bearer ${token}`, `Bearer ${secretOf('api')}`, `Bearer ${secretOf('bearer')}`]) {
    await fetch(`${url}/api/rooms/hall/messages?key=${secretOf('parameter')}`, {
      method: 'POST',
      headers: { authorization, 'idempotency-key': secretOf('key'), cookie: secretOf('cookie') },
      body: '{"text":"x"}',
    });
  }
  for (const password of [secretOf('admin'), secretOf('wrong')]) {
    await fetch(`${url}/metrics`, { headers: { authorization: basic(password) } });
  }
  await redis.stop();
  await client.emitWithAck('message', { room: 'hall', text: secretOf('refused') });
  await server.stop();
  expect(output()).toMatch(/"level":"error"/);
  expectNoSecret(output(), [token, basic(secretOf('admin')), basic(secretOf('wrong'))]);
});

// With the one the bus is refused, with the other the history, whose error carries the command with the password.
test.each([
  ['auto', /"bus":.*WRONGPASS/],
  ['embedded', /"error":.*WRONGPASS/],
])('a start that Redis refuses writes no password, BUS=%s', async (bus, line) => {
  const redis = await RedisProcess.start('--requirepass', 'another');
  atEnd(() => redis.remove());
  const url = redis.url.replace('redis://', `redis://:${secretOf('redis')}@`);
  const { server, written, output } = watched({ REDIS_URL: url, BUS: bus });
  await written(line);
  await server.stop();
  expectNoSecret(output());
});

test.each(['postgres', 'mysql'])('a start whose %s does not answer writes no password', async (database) => {
  const url = `${database}://gjallar:${secretOf(database)}@127.0.0.1:${await freePort()}/gjallar?x=${secretOf('parameter')}`;
  const { server, written, output } = watched({ ARCHIVE_URL: url });
  await written(/ECONNREFUSED/);
  await server.stop();
  expectNoSecret(output());
});

const secrets = Object.values(allOptions).filter(({ isSecret }) => isSecret);

test('every option that sounds like a secret is one', () => {
  const names = secrets.map(({ name }) => name);
  const all = Object.values(allOptions).map(({ name }) => name);
  expect(names).toEqual(all.filter((name) => /URL|SECRET|PASSWORD|API_KEY|CREDS/.test(name)));
});

/** In no form that any of them accepts. */
const badValueOf = (name: string) => `${secretOf(name)} \u0007`;

test.each(secrets.map(({ name }) => name))('a bad %s stops the start, and is not shown', (name) => {
  const start = () => loadConfig({ [name]: badValueOf(name) });
  expect(start).toThrow(GjallarError);
  expect(start).toThrow(name);
  expect(start).not.toThrow(MARK);
});

test('a start with bad secrets prints nothing but the error', async () => {
  const bad = Object.fromEntries(secrets.map(({ name }) => [name, badValueOf(name)]));
  const { code, stdout, stderr } = await runToEnd([], bad);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  const [, message] = /^gjallar: (.*)\n$/.exec(stderr)!;
  expect(() => loadConfig(bad)).toThrow(message);
  expectNoSecret(stderr);
});
