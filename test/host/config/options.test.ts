import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { loadConfig, loadRunConfig } from '../../../src/host/config/load.js';
import { allOptions, type Config, type OptionSpec, options } from '../../../src/host/config/options.js';
import { runToEnd } from '../../support/server.js';
import { cert, key, otherKey, removeFiles, text, writeFiles } from './support/files.js';

beforeAll(writeFiles);
afterAll(removeFiles);

const table = Object.entries(allOptions).map(([name, spec]) => [spec.name, spec, name as keyof Config] as const);

/** What the start prints of a value that is not accepted. */
function lineOf({ name, accepts, isSecret }: OptionSpec<unknown>, value: string): string {
  const end = isSecret ? ' (its value is hidden because it may contain a secret)' : `, not "${value}"`;
  return `${name} must be ${accepts}${end}`;
}

const rejection = (line: string) =>
  expect.objectContaining({ name: 'GjallarError', code: 'BAD_CONFIG', message: line });

/** Looks like the content of a credentials file. */
const natsCreds = [
  '-----BEGIN NATS USER JWT-----\neyJ0\n------END NATS USER JWT------',
  '-----BEGIN USER NKEY SEED-----\nSUA\n------END USER NKEY SEED------',
].join('\n\n');

test.each(table)(
  '%s has its default, for an empty variable too, and the bounds that its words name',
  (name, spec, property) => {
    expect(loadConfig({ [name]: '' })[property]).toEqual(loadConfig({})[property]);
    expect(loadConfig({})[property]).toEqual(spec.fallback);
    const [, min, max] = /^(?:0, or )?an integer from (\d+) to (\d+)/.exec(spec.accepts) ?? [];
    if (min === undefined) return;
    for (const bound of [min, max]) {
      expect(loadConfig({ [name]: bound })[property]).toBe(Number(bound));
    }
    for (const value of [`${Number(min) - 1}`, `${Number(max) + 1}`, 'x', `${min}.5`]) {
      if (value === '0' && spec.accepts.startsWith('0, or')) continue;
      expect(() => loadConfig({ [name]: value })).toThrow(rejection(lineOf(spec, value)));
    }
  },
);

const noHistory = { HISTORY_TTL: '0' };
test.each<[name: string, value: string, meaning?: unknown, together?: Record<string, string>]>([
  ['PORT', ' 8080 ', 8080],
  ['HOST', '::1'],
  ['REDIS_URL', 'rediss://user:secret@redis.example.com'],
  ['REDIS_URL', 'redis-sentinel://user:secret@one:26379,two/chat?db=1&sentinelPassword=other'],
  ['REDIS_PREFIX', 'chat:v2'],
  ['NATS_URL', 'tls://a:1, tls://b:2', undefined, noHistory],
  ['NATS_CREDS', natsCreds, undefined, { NATS_URL: 'nats://localhost', ...noHistory }],
  ['NATS_PREFIX', 'a.b-c_d.1'],
  ['BUS', 'nats', undefined, { NATS_URL: 'nats://localhost', REDIS_URL: 'redis://localhost' }],
  ['HISTORY_TTL', '1500ms', 1500],
  ['HISTORY_TTL', '30d', 2_592_000_000],
  ['HISTORY_MAX_BYTES', '0', 0],
  ['ARCHIVE_URL', 'postgresql://u:p@db/chat'],
  ['ARCHIVE_URL', 'mysql://db/chat'],
  ['STATE_ROOMS', 'quotes, scores of today', ['quotes', 'scores of today']],
  ['CORS_ORIGIN', '*', ['*']],
  ['CORS_ORIGIN', 'https://*.example.com, http://b.example:8080', ['https://*.example.com', 'http://b.example:8080']],
  ['CORS_ORIGIN', 'capacitor://localhost', ['capacitor://localhost']],
  ['JWKS_URL', 'https://a.example/keys'],
  ['JWT_AUDIENCE', 'a', undefined, { JWT_SECRET: 's' }],
  ['ADMIN_PASSWORD', 'a: b', undefined, { ADMIN_USER: 'ops' }],
  ['RATE_LIMIT', 'off', {}],
  [
    'RATE_LIMIT',
    'connections=60/5m, bytes=100000/500ms',
    { connections: { amount: 60, per: 300_000 }, bytes: { amount: 100_000, per: 500 } },
  ],
  ['ALLOWED_HOSTS', 'Chat.example.com, [::1]', ['chat.example.com', '[::1]']],
  ['ALLOW_EIO3', 'true', true],
  ['TLS_KEY', key, undefined, { TLS_CERT: cert }],
])('%s accepts %j', (name, value, meaning = value, together = {}) => {
  const [, , property] = table.find(([one]) => one === name)!;
  expect(loadConfig({ ...together, [name]: value })[property]).toEqual(meaning);
});

test.each<[name: string, values: string[], together?: Record<string, string>]>([
  ['HOST', ['two words', 'http://localhost']],
  [
    'REDIS_URL',
    [
      'localhost:6379',
      'http://localhost',
      'redis',
      'redis://a,b',
      'redis://u:p%zz@a',
      'redis://a:99999',
      'redis://a/b',
      'redis://a/1,redis://b/1',
    ],
  ],
  [
    'REDIS_URL',
    ['redis-sentinel://a', 'redis-sentinel:///x', 'redis-sentinel://a:99999,b/x', 'redis-sentinel://a/x?bd=1'],
  ],
  ['REDIS_PREFIX', ['a b', '{a}', 'a'.repeat(65)]],
  ['NATS_URL', ['localhost:4222', 'nats://a,http://b']],
  ['NATS_CREDS', ['user.creds']],
  ['NATS_PREFIX', ['a..b', 'a:b']],
  ['BUS', ['kafka', 'Redis']],
  ['HISTORY_TTL', ['24', '-1h', '1.5h', '1w']],
  ['ARCHIVE_URL', ['./archive.db', 'http://localhost']],
  [
    'CORS_ORIGIN',
    ['a.example', 'https://a.example/path', 'https://a.example,', 'null', 'https://*', 'https://a*.example'],
  ],
  ['STATE_ROOMS', ['a,,b', 'a\nb', 'x'.repeat(129)]],
  ['API_KEY', ['two words', 'clé']],
  ['JWT_SECRET', ['a\tb']],
  ['JWKS_URL', ['a.example', 'ftp://a.example']],
  ['ADMIN_USER', ['a:b', 'a\tb']],
  ['DRAIN_TIMEOUT', ['10', '25h']],
  ['RELOAD_SETTLE', ['61m']],
  [
    'RATE_LIMIT',
    ['50/s', 'events=50', 'events=0/s', 'events=5/0s', 'events=5/s,events=6/s', 'events=5/s,', 'users=5/s'],
  ],
  ['ALLOWED_HOSTS', ['https://example.com', 'example.com:3000', 'a,,b', '*']],
  ['TLS_KEY', ['/nowhere/key.pem', text], { TLS_CERT: cert }],
  ['TLS_CERT', ['/nowhere/cert.pem', text], { TLS_KEY: key }],
])('%s rejects %j with one line that says what is accepted', (name, values, together = {}) => {
  const [, spec] = table.find(([one]) => one === name)!;
  for (const value of values) {
    expect(() => loadConfig({ ...together, [name]: value })).toThrow(rejection(lineOf(spec, value)));
  }
});

describe('options that go together', () => {
  test.each([
    [
      { JWT_SECRET: 's', JWKS_URL: 'https://a.example' },
      'JWT_SECRET and JWKS_URL cannot be set together; unset one of them',
    ],
    [{ JWT_ISSUER: 'a' }, 'JWT_ISSUER and JWT_AUDIENCE require JWT_SECRET or JWKS_URL; set one of them'],
    [{ ADMIN_USER: 'a' }, 'ADMIN_USER and ADMIN_PASSWORD must be set together; set the missing one'],
    [{ ADMIN_PASSWORD: 'a' }, 'ADMIN_USER and ADMIN_PASSWORD must be set together; set the missing one'],
    [{ BUS: 'redis' }, 'BUS=redis requires REDIS_URL; set it, or use BUS=embedded'],
    [{ BUS: 'nats' }, 'BUS=nats requires NATS_URL; set it, or use BUS=embedded'],
    [{ BUS: 'embedded', NATS_URL: 'nats://a' }, 'BUS=embedded does not use NATS_URL; unset it, or use BUS=nats'],
    [
      { NATS_URL: 'nats://a' },
      'BUS=nats joins several machines, whose history must be in Redis; set REDIS_URL too, or HISTORY_TTL=0',
    ],
    [
      { NATS_URL: 'nats://user:secret@a', NATS_CREDS: natsCreds, HISTORY_TTL: '0' },
      'NATS_CREDS and a user or token in NATS_URL cannot be set together; remove one of them',
    ],
    [{ NATS_CREDS: natsCreds }, 'NATS_CREDS requires NATS_URL; set it, or unset NATS_CREDS'],
    [
      { REDIS_URL: 'redis://a,redis://b', BUS: 'redis' },
      'REDIS_URL lists several nodes, which BUS=redis does not use; set BUS=redis-frames, or list one node',
    ],
    [{ PORT: '5100', ADMIN_PORT: '5100' }, 'PORT and ADMIN_PORT are both 5100; set another ADMIN_PORT'],
    [
      { PORT: '5100', ADMIN_PORT: '5100', HOST: 'a', ADMIN_HOST: '::' },
      'PORT and ADMIN_PORT are both 5100; set another ADMIN_PORT',
    ],
    [{ TLS_KEY: key }, 'TLS_KEY and TLS_CERT must be set together; set the missing one'],
    [{ TLS_CERT: cert }, 'TLS_KEY and TLS_CERT must be set together; set the missing one'],
    [
      { TLS_KEY: otherKey, TLS_CERT: cert },
      'TLS_KEY does not match the certificate in TLS_CERT; set it to the private key of that certificate',
    ],
  ])('%j is rejected', (environment, line) => {
    expect(() => loadConfig(environment as Record<string, string>)).toThrow(rejection(line));
  });

  test('with gjallar run, the variables of Redis and NATS have the prefix GJALLAR_', () => {
    const { redisUrl, redisPrefix, natsUrl } = loadRunConfig({
      ...{ REDIS_URL: 'localhost:6379', REDIS_PREFIX: '{bull}', NATS_URL: 'http://a', NATS_CREDS: 'b' },
      ...{ GJALLAR_REDIS_URL: 'redis://a', GJALLAR_REDIS_PREFIX: 'c' },
    });
    expect({ redisUrl, redisPrefix, natsUrl }).toEqual({ redisUrl: 'redis://a', redisPrefix: 'c', natsUrl: undefined });
    expect(() => loadRunConfig({ GJALLAR_REDIS_URL: 'localhost:6379' })).toThrow(/^GJALLAR_REDIS_URL must be a URL/);
    expect(() => loadRunConfig({ BUS: 'redis' })).toThrow(
      rejection('BUS=redis requires GJALLAR_REDIS_URL; set it, or use BUS=embedded'),
    );
  });

  test.each([
    { PORT: '0', ADMIN_PORT: '0' },
    { PORT: '5100', ADMIN_PORT: '5100', HOST: '127.0.0.2' },
    { PORT: '5100', ADMIN_PORT: '5100', ADMIN_HOST: '::1' },
  ])('%j is accepted', (environment) => {
    expect(() => loadConfig(environment)).not.toThrow();
  });
});

test('a value that is rejected stops the start with one line', async () => {
  const end = await runToEnd([], { PORT: 'http' });
  expect(end).toEqual({ code: 1, stdout: '', stderr: `gjallar: ${lineOf(options.port, 'http')}\n` });
});

test('the configuration is frozen', () => {
  expect(Object.isFrozen(loadConfig({}))).toBe(true);
});

test('--help lists every option with its default and what it accepts, units included', async () => {
  const { code, stdout, stderr } = await runToEnd(['--help']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  // Wrapped lines are one.
  const text = stdout.replace(/(?<! {2}\w+)\n {6}(?!Accepts )/g, ' ');
  for (const [name, spec] of table) {
    expect(text).toContain(
      `\n  ${name}\n      ${spec.description}\n      Accepts ${spec.accepts}. Default: ${spec.default}.\n`,
    );
  }
  expect(options.flushMs.description).toMatch(/ in ms /);
  expect(options.maxPayload.description).toMatch(/ in bytes/);
  expect((await runToEnd(['-h'])).stdout).toBe(stdout);
});
