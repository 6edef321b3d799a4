import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { doctor } from '../../src/cli/doctor/doctor.js';
import { loadConfig } from '../../src/host/config/load.js';
import { connect, disconnectAll, expectOk, nextEvent, upgraded } from '../support/clients.js';
import { postgres } from '../support/databases.js';
import { atEnd } from '../support/ends.js';
import { temporaryFolder } from '../support/folder.js';
import { NatsProcess } from '../support/nats.js';
import { freePort } from '../support/ports.js';
import { RedisProcess } from '../support/redis.js';
import { startSentinel } from '../support/sentinel.js';
import { runToEnd, startServer } from '../support/server.js';

let folder: string;
beforeAll(async () => {
  folder = temporaryFolder();
});
afterEach(disconnectAll);

const environmentOf = (environment: Record<string, string>) => ({
  ...{ HOST: '127.0.0.1', PORT: '0', WORKERS: '1', DATA_DIR: join(folder, 'data') },
  ...environment,
});

function examined(code: number | null, stdout: string) {
  const lines = stdout.trimEnd().split('\n');
  for (const line of lines) expect(line).toMatch(/^(ok {2}|warn|fail) {2}\S/);
  return { code, lines, failed: lines.filter((line) => line.startsWith('fail')) };
}

/** Runs `gjallar doctor`. */
async function run(environment: Record<string, string>) {
  const { code, stdout, stderr } = await runToEnd(['doctor'], environmentOf(environment));
  expect(stderr).toBe('');
  return examined(code, stdout);
}

/** Does the same without a process of its own. */
async function examine(environment: Record<string, string>, args: readonly string[] = []) {
  let stdout = '';
  const spy = jest.spyOn(console, 'log').mockImplementation((line) => {
    stdout += `${line}\n`;
  });
  try {
    const all = environmentOf(environment);
    const code = await doctor.run(args, loadConfig({}), all);
    return examined(code, stdout);
  } finally {
    spy.mockRestore();
  }
}

test('a machine where all is well: exit code 0', async () => {
  const database = await postgres();
  const { code, lines, failed } = await run({ ARCHIVE_URL: database.url }).finally(() => database.remove());
  expect({ code, failed }).toEqual({ code: 0, failed: [] });
  expect(lines).toContain('ok    the configuration is valid');
  expect(lines).toContain('ok    the database of ARCHIVE_URL answers');
  expect(lines.join('\n')).toMatch(/DATA_DIR "[^"]+" has \d+ MiB free/);
});

test('each thing that is down is named with what to do: exit code 1', async () => {
  const port = await freePort();
  const { code, lines, failed } = await run({
    REDIS_ULR: 'x',
    REDIS_URL: `redis://:secret@127.0.0.1:${port}`,
    BUS: 'embedded',
    DATA_DIR: '/proc/nowhere',
    ARCHIVE_URL: `postgres://user:secret@127.0.0.1:${port}/x`,
    JWKS_URL: `http://127.0.0.1:${port}/keys`,
  });
  expect(code).toBe(1);
  expect(lines.join('\n')).toContain('the variable REDIS_ULR is unknown and has no effect. Did you mean REDIS_URL?');
  expect(failed.map((line) => /^fail {2}(JWKS_URL|Redis|the database of ARCHIVE_URL)/.exec(line)?.[1])).toEqual([
    'JWKS_URL',
    'Redis',
    'the database of ARCHIVE_URL',
  ]);
  expect(lines.join('\n')).not.toContain('secret');
});

test('ports that another program has are named with their variables', async () => {
  const admin = createServer().listen(0, '127.0.0.1');
  await once(admin, 'listening');
  const adminPort = (admin.address() as AddressInfo).port;
  const variables = { WORKERS: '2', ADMIN_PORT: String(adminPort) };
  const { code, failed } = await examine(variables);
  expect(failed).toEqual([
    expect.stringMatching(
      `cannot listen on ADMIN_PORT=${adminPort}: .*127.0.0.1:${adminPort}. Set another ADMIN_PORT.`,
    ),
  ]);
  expect(code).toBe(1);
  admin.close();
  expect((await examine(variables)).failed).toEqual([]);
});

test('beside a running server whose code fixes the port, only its problems count', async () => {
  const adminPort = await freePort();
  const server = await startServer({ WORKERS: '1', ADMIN_PORT: String(adminPort), HISTORY_TTL: '0' });
  // Under `gjallar run`, the page at PORT is the application's.
  const page = createServer((_request, response) => response.end('hello')).listen(0, '127.0.0.1');
  await once(page, 'listening');
  const { port } = page.address() as AddressInfo;
  const file = join(folder, 'file');
  await writeFile(file, '');
  atEnd(
    () => page.close(),
    () => server.stop(),
  );
  for (const PORT of [String(port), String(await freePort())]) {
    const { code, lines, failed } = await examine({ PORT, ADMIN_PORT: String(adminPort), DATA_DIR: file });
    expect({ code, failed }).toEqual({ code: 0, failed: [] });
    expect(lines).toContain(`ok    a server answers at ADMIN_PORT=${adminPort}`);
    // An application has none.
    expect(lines.join()).not.toContain('DATA_DIR');
  }
  const { code, failed } = await examine({ PORT: String(port), DATA_DIR: file });
  expect(code).toBe(1);
  expect(failed).toEqual([
    expect.stringContaining(`cannot listen on PORT=${port} at HOST=127.0.0.1`),
    expect.stringContaining(`DATA_DIR "${file}" cannot be written to: `),
  ]);
});

test('for gjallar run, only what it would open counts', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const file = join(folder, 'a-file');
  await writeFile(file, '');
  const theirs = { PORT: String(port), DATA_DIR: file, HISTORY_TTL: 'theirs' };
  const { code, lines, failed } = await examine(theirs, ['run']);
  expect({ code, failed }).toEqual({ code: 0, failed: [] });
  expect(lines.join()).not.toMatch(/PORT|DATA_DIR/);
  expect((await examine({ ...theirs, ADMIN_PORT: String(port) }, ['run'])).failed).toEqual([
    expect.stringContaining(`cannot listen on ADMIN_PORT=${port}`),
  ]);
  other.close();
});

test('the problems of a running server are failures', async () => {
  const problem = { code: 'REDIS_UNREACHABLE', text: 'Redis is unreachable', remedy: 'Start it.', since: 0 };
  const readiness = { ok: false, state: 'draining', problems: [problem], warnings: [] };
  const other = createServer((_request, response) => response.end(JSON.stringify(readiness))).listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const { code, failed } = await examine({ PORT: String(port) });
  other.close();
  expect({ code, failed }).toEqual({
    code: 1,
    failed: ['fail  it is draining', 'fail  it reports: Redis is unreachable. Start it. [REDIS_UNREACHABLE]'],
  });
});

test('Sentinel: a name that it does not know, and servers that are down or hang', async () => {
  const sentinel = await startSentinel(folder, await freePort());
  const REDIS_URL = `redis-sentinel://${sentinel.address}/chta`;
  const wrong = await examine({ REDIS_URL });
  const plain = await examine({ GJALLAR_REDIS_URL: `redis://${sentinel.address}` }, ['run']);
  await sentinel.stop();
  const down = await examine({ REDIS_URL });
  const sockets: Socket[] = [];
  const silent = createTcpServer((socket) => sockets.push(socket)).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  atEnd(
    () => silent.close(),
    () => sockets.map((socket) => socket.destroy()),
  );
  const { port } = silent.address() as AddressInfo;
  const hanging = await examine({
    REDIS_URL: `redis-sentinel://localhost:${port},127.0.0.1:${port},127.0.0.2:${port}/chta`,
  });
  expect(plain.failed).toEqual([
    `fail  Redis at ${sentinel.address} is a Sentinel. Name it as redis-sentinel://host:port/name in REDIS_URL, ` +
      'with the name of its master. [REDIS_COMMAND_REJECTED]',
  ]);
  const begin = 'fail  Redis "chta" of Sentinel cannot be used: ';
  const end = '. Check REDIS_URL, and that Redis runs. [REDIS_UNREACHABLE]';
  expect(wrong.failed).toEqual([`${begin}Sentinel knows no master of the name in REDIS_URL${end}`]);
  for (const { failed } of [down, hanging]) expect(failed).toEqual([`${begin}no Sentinel of Redis answers${end}`]);
});

describe('with a Redis', () => {
  let redis: RedisProcess;
  let admin: Redis;
  beforeAll(async () => {
    redis = await RedisProcess.start();
    admin = new Redis(redis.url);
  });
  afterAll(async () => {
    admin.disconnect();
    await redis.remove();
  });

  test('settings that lose messages are warnings', async () => {
    const { code, lines } = await examine({ REDIS_URL: redis.url });
    expect(code).toBe(0);
    expect(lines.join('\n')).toContain('has no append-only file');
    expect(lines.join('\n')).toContain('has no memory limit');
  });

  test('a database that Redis does not have is no database to use', async () => {
    const { code, failed } = await examine({ REDIS_URL: `${redis.url}/16` });
    expect(code).toBe(1);
    expect(failed).toEqual([
      `fail  Redis at 127.0.0.1:${redis.port} cannot be used: Redis rejects the database number of its URL (SELECT). ` +
        'Check REDIS_URL, and that Redis runs. [REDIS_COMMAND_REJECTED]',
    ]);
  });

  test('a Redis that may remove messages, or does not answer, is no Redis to use', async () => {
    await admin.config('SET', 'maxmemory', '100mb');
    await admin.config('SET', 'maxmemory-policy', 'allkeys-lru');
    const { code, failed } = await examine({ REDIS_URL: redis.url });
    await admin.config('SET', 'maxmemory', '0');
    await admin.config('SET', 'maxmemory-policy', 'noeviction');
    expect(code).toBe(1);
    expect(failed.join('\n')).toMatch(
      /removes messages when it is full \(allkeys-lru\)\. Set maxmemory-policy noeviction/,
    );
    redis.signal('SIGSTOP');
    const silent = await examine({ REDIS_URL: redis.url });
    redis.signal('SIGCONT');
    expect(silent.failed).toEqual([expect.stringMatching(/Redis at .* cannot be used: .+ Check REDIS_URL/)]);
    expect(silent.lines.join('\n')).not.toContain('answers');
  });

  test('the documented user has the rights that the server needs', async () => {
    const docs = readFileSync(new URL('../../docs/operations/redis.md', import.meta.url), 'utf8');
    const [, line] = /^(ACL SETUSER gjallar .*)$/m.exec(docs)!;
    const [command, ...rules] = line!.split(' ');
    await admin.call(command!, ...rules);
    const REDIS_URL = redis.url.replace('redis://', 'redis://gjallar:secret@');
    const { failed } = await examine({ REDIS_URL });
    expect(failed).toEqual([]);
    const servers = await Promise.all([1, 2].map(() => startServer({ WORKERS: '1', REDIS_URL })));
    try {
      const [one, other] = servers.map(({ url }) => connect(url));
      await Promise.all([upgraded(one!), upgraded(other!)]);
      expectOk(await one!.emitWithAck('join', 'hall'));
      expectOk(await other!.emitWithAck('join', 'hall'));
      const heard = nextEvent(other!, 'message');
      expectOk(await one!.emitWithAck('message', { room: 'hall', text: 'hello' }));
      expect(await heard).toEqual([expect.objectContaining({ text: 'hello' })]);
      expect(await other!.emitWithAck('history', { room: 'hall', after: 0 })).toMatchObject({ complete: true });
      for (const { log } of servers) expect(log.filter(({ level }) => level === 'error')).toEqual([]);
    } finally {
      await Promise.all(servers.map((server) => server.stop()));
    }
    // Each entry is a list of names and values. Drivers introduce themselves with CLIENT SETINFO, and may be rejected.
    const rejected = ((await admin.call('ACL', 'LOG')) as string[][])
      .map((entry) => ({ user: entry[entry.indexOf('username') + 1], what: entry[entry.indexOf('object') + 1] }))
      .filter(({ user, what }) => user === 'gjallar' && !what?.startsWith('client'));
    expect(rejected).toEqual([]);
  });
});

test('NATS: rights that are missing, and a server that is down, are named with what to do', async () => {
  const permissions = 'permissions: { publish: "gjallar.frames", subscribe: "gjallar.>" }';
  const nats = await NatsProcess.start(
    'max_payload: 1024',
    `authorization { users = [ { user: lacking, password: secret, ${permissions} }, { user: chat, password: secret } ] }`,
  );
  try {
    const url = (user: string) => nats.url.replace('//', `//${user}:secret@`);
    const good = await examine({ NATS_URL: url('chat'), HISTORY_TTL: '0' });
    expect(good).toMatchObject({ code: 0, failed: [] });
    expect(good.lines.join('\n')).toMatch(
      /NATS at 127\.0\.0\.1:\d+ answers[\s\S]*accepts 1024 bytes[\s\S]*allows the subjects/,
    );
    const lacking = await examine({ NATS_URL: url('lacking'), HISTORY_TTL: '0' });
    expect(lacking.code).toBe(1);
    expect(lacking.failed.map((line) => /Publish to "(.+)"/.exec(line)?.[1])).toEqual([
      'gjallar.frames.hubs',
      'gjallar.frames.hubs.doctor',
    ]);
    const wrong = await examine({ NATS_URL: nats.url.replace('//', '//nobody:secret@'), HISTORY_TTL: '0' });
    expect(wrong.failed).toEqual([
      expect.stringMatching(/cannot be used: .*Authorization Violation.* Check NATS_URL.* \[BUS_UNAUTHORIZED\]/i),
    ]);
    expect(JSON.stringify([good, lacking, wrong])).not.toContain('secret');
  } finally {
    await nats.remove();
  }
  const down = await examine({ NATS_URL: nats.url, HISTORY_TTL: '0' });
  expect(down.failed).toEqual([expect.stringMatching(/NATS at .* cannot be used: .*ECONNREFUSED/)]);
});
