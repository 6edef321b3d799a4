import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { get } from 'node:https';
import { createServer } from 'node:net';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { isUnlimited } from '../../src/config/is-unlimited.js';
import { loadConfig } from '../../src/config/load.js';
import { type Config, type OptionSpec, options } from '../../src/config/options.js';
import { runToEnd, startServer } from '../support/server.js';

const directory = mkdtempSync(join(tmpdir(), 'gjallar-config-'));
const key = join(directory, 'key.pem');
const cert = join(directory, 'cert.pem');
const otherKey = join(directory, 'other-key.pem');
const text = join(directory, 'text.pem');

beforeAll(() => {
  for (const [keyFile, certFile] of [
    [otherKey, cert],
    [key, cert],
  ] as const) {
    const how = '-x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost'.split(' ');
    execFileSync('openssl', ['req', ...how, '-keyout', keyFile, '-out', certFile], { stdio: 'ignore' });
  }
  writeFileSync(text, 'neither key nor certificate');
});

afterAll(() => rmSync(directory, { recursive: true }));

interface Expectation {
  /** What an unset variable means, where the help describes it instead of showing the value. */
  default?: unknown;
  /** Values that are accepted, with what they mean and, where they need it, what must be set with them. */
  good: [value: string, meaning: unknown, together?: Record<string, string>][];
  bad: string[];
}

const expectations: Record<keyof Config, Expectation> = {
  port: {
    good: [
      ['0', 0],
      ['1', 1],
      ['65535', 65_535],
      [' 8080 ', 8080],
    ],
    bad: ['65536', '-1', '80.5', 'http', '1e3', '0x50', '99999999999999999999'],
  },
  host: {
    good: [
      ['127.0.0.1', '127.0.0.1'],
      ['::1', '::1'],
      ['chat.example.com', 'chat.example.com'],
    ],
    bad: ['two words', 'http://localhost', 'localhost/'],
  },
  workers: {
    default: availableParallelism(),
    good: [
      ['1', 1],
      ['256', 256],
    ],
    bad: ['0', '257', 'all'],
  },
  redisUrl: {
    default: undefined,
    good: [
      ['redis://localhost:6379/1', 'redis://localhost:6379/1'],
      ['rediss://user:secret@redis.example.com', 'rediss://user:secret@redis.example.com'],
    ],
    bad: ['localhost:6379', 'http://localhost:6379', 'redis', 'redis://a,b'],
  },
  bus: {
    good: [
      ['auto', 'auto'],
      ['embedded', 'embedded'],
      ...['redis', 'redis-sharded', 'redis-streams'].map((bus): Expectation['good'][number] => [
        bus,
        bus,
        { REDIS_URL: 'redis://localhost' },
      ]),
    ],
    bad: ['kafka', 'Redis'],
  },
  historyTtl: {
    default: 86_400_000,
    good: [
      ['0', 0],
      ['1500ms', 1500],
      ['90s', 90_000],
      ['5m', 300_000],
      ['2h', 7_200_000],
      ['30d', 2_592_000_000],
    ],
    bad: ['24', '-1h', '1.5h', '1w', 'day'],
  },
  // Any text is a path.
  dataDir: { good: [['/srv/gjallar', '/srv/gjallar']], bad: [] },
  archiveUrl: {
    default: undefined,
    good: ['sqlite:./archive.db', 'postgres://localhost/chat', 'postgresql://u:p@db/chat', 'mysql://db/chat'].map(
      (url) => [url, url],
    ),
    bad: ['./archive.db', 'sqlite:', 'http://localhost', 'mongodb://localhost/chat'],
  },
  flushMs: {
    good: [
      ['0', 0],
      ['1000', 1000],
    ],
    bad: ['1001', '-1', '10ms'],
  },
  logLevel: {
    good: ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'].map((level) => [level, level]),
    bad: ['verbose', 'INFO'],
  },
  corsOrigin: {
    default: undefined,
    good: [
      ['*', ['*']],
      ['https://a.example', ['https://a.example']],
      ['capacitor://localhost', ['capacitor://localhost']],
      ['https://a.example, http://b.example:8080', ['https://a.example', 'http://b.example:8080']],
    ],
    bad: ['a.example', 'https://a.example/path', 'https://a.example,', 'null'],
  },
  apiKey: { default: undefined, good: [['a-key!', 'a-key!']], bad: ['two words', 'clé'] },
  jwtSecret: { default: undefined, good: [['a secret', 'a secret']], bad: ['a\tb'] },
  jwksUrl: {
    default: undefined,
    good: [['https://a.example/keys', 'https://a.example/keys']],
    bad: ['a.example', 'ftp://a.example'],
  },
  jwtIssuer: { default: undefined, good: [['a', 'a', { JWT_SECRET: 's' }]], bad: ['a\tb'] },
  jwtAudience: { default: undefined, good: [['a', 'a', { JWT_SECRET: 's' }]], bad: ['a\tb'] },
  adminUser: { default: undefined, good: [['ops', 'ops', { ADMIN_PASSWORD: 'p' }]], bad: ['a:b', 'a\tb'] },
  adminPassword: { default: undefined, good: [['a: b', 'a: b', { ADMIN_USER: 'ops' }]], bad: ['a\tb'] },
  maxPayload: {
    good: [
      ['1024', 1024],
      ['134217728', 134_217_728],
    ],
    bad: ['1023', '134217729', '1MB'],
  },
  maxBackpressure: {
    good: [
      ['16384', 16_384],
      ['1073741824', 1_073_741_824],
    ],
    bad: ['0', '16383', '1073741825', '4MB'],
  },
  slowPolicy: { good: ['close', 'drop', 'drop-volatile'].map((policy) => [policy, policy]), bad: ['wait', 'Close'] },
  drainTimeout: {
    default: 10_000,
    good: [
      ['0', 0],
      ['500ms', 500],
      ['1m', 60_000],
      ['24h', 86_400_000],
    ],
    bad: ['10', '-1s', '25h', 'soon'],
  },
  rateLimit: {
    default: {},
    good: [
      ['events=50/s', { events: { amount: 50, per: 1000 } }],
      [
        'connections=60/5m, bytes=100000/500ms',
        { connections: { amount: 60, per: 300_000 }, bytes: { amount: 100_000, per: 500 } },
      ],
    ],
    bad: ['50/s', 'events=50', 'events=0/s', 'events=5/0s', 'events=5/s,events=6/s', 'events=5/s,', 'users=5/s'],
  },
  maxConnectionsPerIp: {
    good: [
      ['0', 0],
      ['100', 100],
    ],
    bad: ['-1', 'none'],
  },
  trustProxy: {
    good: [
      ['0', 0],
      ['2', 2],
    ],
    bad: ['-1', '17', 'true', '10.0.0.1'],
  },
  tlsKey: { default: undefined, good: [[key, key, { TLS_CERT: cert }]], bad: ['/nowhere/key.pem', text] },
  tlsCert: { default: undefined, good: [[cert, cert, { TLS_KEY: key }]], bad: ['/nowhere/cert.pem', text] },
};

const table = Object.entries(options as Record<string, OptionSpec<unknown>>).map(
  ([name, spec]) => [spec.name, spec, name as keyof Config] as const,
);

describe.each(table)('%s', (name, spec, property) => {
  const { good, bad, ...expected } = expectations[property];
  // Each of the two is looked at only when the other one is good.
  const pair: Record<string, string> = { TLS_KEY: key, TLS_CERT: cert };
  const together = name in pair ? pair : {};

  test('has a default, for an empty variable too', () => {
    const fallback = loadConfig({})[property];
    if ('default' in expected) expect(fallback).toEqual(expected.default);
    else expect(String(fallback)).toBe(spec.default);
    expect(loadConfig({ [name]: '' })[property]).toEqual(fallback);
  });

  test.each(good)('accepts %j', (value, meaning, others = {}) => {
    expect(loadConfig({ ...others, [name]: value })[property]).toEqual(meaning);
  });

  if (bad.length === 0) return;
  test.each(bad)('stops the start at %j with one line that says what is accepted', async (value) => {
    const end = spec.isSecret ? '; the value may be a secret, and is not shown' : `, not "${value}"`;
    expect(await runToEnd([], { ...together, [name]: value })).toEqual({
      code: 1,
      stdout: '',
      stderr: `gjallar: ${name} must be ${spec.accepts}${end}\n`,
    });
  });
});

describe('options that go together', () => {
  test.each([
    [{ JWT_SECRET: 's', JWKS_URL: 'https://a.example' }, 'JWT_SECRET and JWKS_URL cannot be set together'],
    [{ JWT_ISSUER: 'a' }, 'JWT_ISSUER and JWT_AUDIENCE need JWT_SECRET or JWKS_URL'],
    [{ ADMIN_USER: 'a' }, 'ADMIN_USER and ADMIN_PASSWORD must be set together'],
    [{ ADMIN_PASSWORD: 'a' }, 'ADMIN_USER and ADMIN_PASSWORD must be set together'],
    [{ BUS: 'redis' }, 'BUS=redis needs REDIS_URL'],
    [{ BUS: 'redis-sharded' }, 'BUS=redis-sharded needs REDIS_URL'],
    [{ BUS: 'redis-streams' }, 'BUS=redis-streams needs REDIS_URL'],
    [{ REDIS_URL: 'redis://a,redis://b' }, 'several nodes in REDIS_URL need BUS=redis-sharded'],
    [{ TLS_KEY: key }, 'TLS_KEY and TLS_CERT must be set together'],
    [{ TLS_CERT: cert }, 'TLS_KEY and TLS_CERT must be set together'],
    [{ TLS_KEY: otherKey, TLS_CERT: cert }, 'TLS_KEY must be the key of the certificate in TLS_CERT'],
  ])('%j stops the start', async (environment, line) => {
    const wrong = await runToEnd([], environment as Record<string, string>);
    expect(wrong).toEqual({ code: 1, stdout: '', stderr: `gjallar: ${line}\n` });
  });
});

test('the configuration is frozen', () => {
  expect(Object.isFrozen(loadConfig({}))).toBe(true);
});

test('--help lists every option with its default and what it accepts, units included', async () => {
  const { code, stdout, stderr } = await runToEnd(['--help']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  for (const [name, spec] of table) {
    expect(stdout).toContain(`  ${name}\n      ${spec.description}\n`);
    expect(stdout).toContain(`Accepts ${spec.accepts}. Default: ${spec.default}.\n`);
  }
  expect(options.flushMs.description).toMatch(/ in ms /);
  expect(options.maxPayload.description).toMatch(/ in bytes/);
  expect((await runToEnd(['-h'])).stdout).toBe(stdout);
});

test('--version prints the version', async () => {
  expect(await runToEnd(['--version'])).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
});

test.each([['--workers'], ['4']])('the unknown argument %s stops the start with one line', async (argument) => {
  const { code, stdout, stderr } = await runToEnd([argument]);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(new RegExp(`^gjallar: [^\\n]*'${argument}'[^\\n]*; try gjallar --help\\n$`));
});

test.each([
  [{}, true],
  [{ HOST: '::' }, true],
  [{ HOST: '127.0.0.1' }, false],
  [{ HOST: '::1' }, false],
  [{ HOST: 'localhost' }, false],
  [{ RATE_LIMIT: 'events=5/s' }, false],
  [{ MAX_CONNECTIONS_PER_IP: '5' }, false],
])('with %p the start says that nothing is limited: %p', (environment, expected) => {
  expect(isUnlimited(loadConfig(environment))).toBe(expected);
});

test('a port in use stops the start with one line', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  try {
    const { port } = other.address() as { port: number };
    expect(await runToEnd([], { HOST: '127.0.0.1', PORT: String(port), LOG_LEVEL: 'silent' })).toEqual({
      code: 1,
      stdout: '',
      stderr: `gjallar: cannot listen on PORT=${port} at HOST=127.0.0.1: another server uses it\n`,
    });
  } finally {
    // Left open, it would keep the test runner from ending.
    other.close();
  }
});

test('a folder for the messages that cannot be written to stops the start with one line', async () => {
  const { code, stdout, stderr } = await runToEnd([], { PORT: '0', DATA_DIR: text, LOG_LEVEL: 'silent', WORKERS: '1' });
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/^gjallar: DATA_DIR must be a folder that can be written to, not "[^"]+": [^\n]+\n$/);
});

test('an address of another machine stops the start with one line', async () => {
  const { code, stdout, stderr } = await runToEnd([], { HOST: '192.0.2.1', PORT: '0', LOG_LEVEL: 'silent' });
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/^gjallar: cannot listen on PORT=0 at HOST=192\.0\.2\.1: [^\n]+\n$/);
});

test('the server speaks https with TLS_KEY and TLS_CERT', async () => {
  const server = await startServer({ TLS_KEY: key, TLS_CERT: cert, WORKERS: '1' });
  try {
    expect(server.greeting).toContain(` https://127.0.0.1:${server.port} `);
    const request = get(`${server.url}/healthz`, { ca: readFileSync(cert), servername: 'localhost' });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    expect(response.statusCode).toBe(200);
    expect(response.headers['strict-transport-security']).toBe('max-age=31536000');
    response.destroy();
  } finally {
    await server.stop();
  }
});
