import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { loadConfig, loadRunConfig } from '../../../src/host/config/load.js';
import { allOptions, type Config, type OptionSpec, options } from '../../../src/host/config/options.js';
import { runToEnd } from '../../support/server.js';
import { expectations, natsCreds } from './support/expectations.js';
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
  test.each(bad)('rejects %j with one line that says what is accepted', (value) => {
    expect(() => loadConfig({ ...together, [name]: value })).toThrow(rejection(lineOf(spec, value)));
  });
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

test.each([
  ['an option', { PORT: 'http' }, lineOf(options.port, 'http')],
  ['a secret', { JWT_SECRET: 'a\tb' }, lineOf(options.jwtSecret, 'a\tb')],
  ['a file', { TLS_KEY: text, TLS_CERT: cert }, lineOf(options.tlsKey, text)],
  ['a pair', { TLS_CERT: cert }, 'TLS_KEY and TLS_CERT must be set together; set the missing one'],
])('%s that is rejected stops the start with one line', async (_what, environment, line) => {
  const end = await runToEnd([], environment as Record<string, string>);
  expect(end).toEqual({ code: 1, stdout: '', stderr: `gjallar: ${line}\n` });
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
