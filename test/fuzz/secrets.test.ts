import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from '@jest/globals';
import { SignJWT } from 'jose';
import { WebSocket } from 'ws';
import { GjallarError } from '../../src/base/errors.js';
import { loadConfig } from '../../src/host/config/load.js';
import { allOptions } from '../../src/host/config/options.js';
import { connect, connected, disconnectAll, expectOk, nextEvent } from '../support/clients.js';
import { freePort } from '../support/ports.js';
import { RedisProcess } from '../support/redis.js';
import { cleanEnvironment, runToEnd } from '../support/server.js';

/** Nothing that is secret is written anywhere, at the level that tells most. */

const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const MARK = 'SeCrEt';
/** A secret of its own for each place, so that a failure tells where it came from. */
const secretOf = (place: string) => `${MARK}-${place}-which-nobody-may-read-in-a-log`;

const running: ChildProcess[] = [];
afterEach(() => {
  disconnectAll();
  for (const child of running.splice(0)) child.kill('SIGKILL');
});

/** A server of which everything is read that it writes. */
class Watched {
  output = '';
  private readonly watchers = new Set<() => void>();

  private constructor(readonly child: ChildProcess) {
    for (const stream of [child.stdout!, child.stderr!]) {
      stream.on('data', (chunk) => {
        this.output += chunk;
        for (const watcher of this.watchers) watcher();
      });
    }
  }

  static start(environment: Record<string, string>): Watched {
    const env = {
      ...cleanEnvironment(),
      HOST: '127.0.0.1',
      PORT: '0',
      WORKERS: '1',
      LOG_LEVEL: 'trace',
      ...environment,
    };
    const child = spawn(process.execPath, [main], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    running.push(child);
    return new Watched(child);
  }

  /** Resolves when the output has it. */
  written(pattern: RegExp): Promise<RegExpExecArray> {
    return new Promise((resolve) => {
      const check = () => {
        const match = pattern.exec(this.output);
        if (!match) return;
        this.watchers.delete(check);
        resolve(match);
      };
      this.watchers.add(check);
      check();
    });
  }

  async end(): Promise<void> {
    this.child.kill('SIGTERM');
    await once(this.child, 'close');
  }
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
  const archive = await mkdtemp(join(tmpdir(), 'gjallar-secrets-'));
  const server = Watched.start({
    REDIS_URL: redis.url.replace('redis://', `redis://:${secretOf('redis')}@`),
    ARCHIVE_URL: `sqlite:${join(archive, 'archive.db')}`,
    API_KEY: secretOf('api'),
    JWT_SECRET: jwtSecret,
    ADMIN_USER: 'ops',
    ADMIN_PASSWORD: secretOf('admin'),
  });
  try {
    const [, port] = await server.written(/gjallar listens on http:\/\/[^ ]+:(\d+)/);
    const url = `http://127.0.0.1:${port}`;
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
    await server.end();
    expect(server.output).toMatch(/"level":"error"/);
    expectNoSecret(server.output, [token, basic(secretOf('admin')), basic(secretOf('wrong'))]);
  } finally {
    await redis.remove();
    await rm(archive, { recursive: true, force: true });
  }
});

// With the one the bus is refused, with the other the history, whose error carries the command with the password.
test.each([
  ['auto', /"bus":.*WRONGPASS/],
  ['embedded', /"error":.*WRONGPASS/],
])('a start that Redis refuses writes no password, BUS=%s', async (bus, line) => {
  const redis = await RedisProcess.start('--requirepass', 'another');
  try {
    const url = redis.url.replace('redis://', `redis://:${secretOf('redis')}@`);
    const server = Watched.start({ REDIS_URL: url, BUS: bus });
    await server.written(line);
    await server.end();
    expectNoSecret(server.output);
  } finally {
    await redis.remove();
  }
});

test.each(['postgres', 'mysql'])('a start whose %s does not answer writes no password', async (database) => {
  const data = await mkdtemp(join(tmpdir(), 'gjallar-secrets-'));
  const url = `${database}://gjallar:${secretOf(database)}@127.0.0.1:${await freePort()}/gjallar?x=${secretOf('parameter')}`;
  const server = Watched.start({ ARCHIVE_URL: url, DATA_DIR: data });
  await server.written(/ECONNREFUSED/);
  await server.end();
  expectNoSecret(server.output);
  await rm(data, { recursive: true, force: true });
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
