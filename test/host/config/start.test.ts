import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { get } from 'node:https';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { isUnlimited } from '../../../src/host/config/limits.js';
import { loadConfig, loadRunConfig } from '../../../src/host/config/load.js';
import { allOptions, runOptions } from '../../../src/host/config/options.js';
import { unknownVariables } from '../../../src/host/config/unknown.js';
import { type RunningServer, runToEnd, startServer } from '../../support/server.js';
import { cert, key, long, removeFiles, text, writeFiles } from './support/files.js';

beforeAll(writeFiles);
afterAll(removeFiles);

test('--version prints the version', async () => {
  expect(await runToEnd(['--version'])).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
});

test.each([
  ['--workers', /^gjallar: Unknown option '--workers'; run gjallar --help for the options\n$/],
  ['4', /^gjallar: there is no command 4; .*gjallar --help lists all commands\n$/],
])('the unknown argument %s stops the start with one line', async (argument, line) => {
  const { code, stdout, stderr } = await runToEnd([argument]);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(line);
});

test.each([
  [{}, false],
  [{ RATE_LIMIT: 'off', MAX_CONNECTIONS_PER_IP: '0' }, true],
  [{ RATE_LIMIT: 'off', MAX_CONNECTIONS_PER_IP: '0', HOST: '::' }, true],
  [{ RATE_LIMIT: 'off', MAX_CONNECTIONS_PER_IP: '0', HOST: '127.0.0.1' }, false],
  [{ HOST: '::1' }, false],
  [{ HOST: 'localhost' }, false],
  [{ RATE_LIMIT: 'events=5/s' }, false],
  [{ MAX_CONNECTIONS_PER_IP: '5' }, false],
])('with %p the start says that nothing is limited: %p', (environment, expected) => {
  expect(isUnlimited(loadConfig(environment))).toBe(expected);
});

test.each([
  [
    'no folder for temporary files',
    // Below /proc, Node.js 24 would try without end to make a folder for compiled code.
    { TMPDIR: '/dev/null/nowhere' },
    /: ENOTDIR: [^\n]+\. Set TMPDIR to a writable folder\.\n$/,
  ],
  [
    'a long folder for temporary files',
    { TMPDIR: long },
    /: the folder of TMPDIR is too long by \d+ characters for the sockets of the workers\. Set TMPDIR to a shorter one\.\n$/,
  ],
  ['a folder below /proc', { DATA_DIR: '/proc/1/data' }, /DATA_DIR must be a folder that can be written to/],
  ['a file', { DATA_DIR: text }, /: DATA_DIR must be a folder that can be written to, not "[^"]+": [^\n]+\n$/],
])('%s for what the server writes stops the start with one line', async (_what, environment, words) => {
  const { code, stdout, stderr } = await runToEnd([], { PORT: '0', LOG_LEVEL: 'info', WORKERS: '1', ...environment });
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/^gjallar: [^\n]+\n$/);
  expect(stderr).toMatch(words);
});

test.each([
  ['REDIS_ULR', 'REDIS_URL'],
  ['TRUSTPROXY', 'TRUST_PROXY'],
  ['CORS_ORIGINS', 'CORS_ORIGIN'],
  ['PROT', 'PORT'],
  ['jwt_secret', 'JWT_SECRET'],
  ['JWT_SECRET_FIEL', 'JWT_SECRET_FILE'],
  ['GJALLAR_SOCKET', 'GJALLAR_SOCKETS'],
  ['GJALLAR_PORTOWNER', 'GJALLAR_PORT_OWNER'],
  ['UWS_HTTP_MAX_HEADER_SIZE', 'UWS_HTTP_MAX_HEADERS_SIZE'],
  ['NODE_EXTRA_CA_CERT', 'NODE_EXTRA_CA_CERTS'],
  ['GJALLAR_PORT', 'PORT'],
  ['GJALLAR_REDIS_URL', 'REDIS_URL'],
  ['GJALLAR_PORT_OWNER', undefined],
  ['GJALLAR_MESH_DIRECTORY', undefined],
  ['HOME', undefined],
  ['PATH', undefined],
  ['JWT_SECRET_FILE', undefined],
  ['NODE_OPTIONS', undefined],
])('for the variable %s, the start suggests %s', (name, meant) => {
  expect(unknownVariables({ [name]: 'x' }, false)).toEqual(meant ? [{ name, meant }] : []);
});

test.each([
  ['GJALLAR_REDIS_URI', 'GJALLAR_REDIS_URL'],
  ['GJALAR_REDIS_URL', 'GJALLAR_REDIS_URL'],
  ['GJALLAR_REDIS_URL_FIEL', 'GJALLAR_REDIS_URL_FILE'],
  ['GJALLAR_SOCKET', 'GJALLAR_SOCKETS'],
  ['GJALLAR_WORKERS', 'WORKERS'],
  ['UWS_HTTP_MAX_HEADER_SIZE', 'UWS_HTTP_MAX_HEADERS_SIZE'],
  ['GJALLAR_REDIS_URL', undefined],
  ['GJALLAR_ANYTHING', undefined],
  ['APORT', undefined],
  ['REDIS_ULR', undefined],
  ['WORKER', undefined],
  ['JWT_SECRETS', undefined],
  ['ADMIN_PASSWORDS', undefined],
  ['NODE_OPTION', undefined],
])("for the variable %s, gjallar run suggests %s: others are the application's", (name, meant) => {
  expect(unknownVariables({ [name]: 'x' }, true)).toEqual(meant ? [{ name, meant }] : []);
});

test('a service of Kubernetes that has the name gjallar is no misspelt variable', () => {
  const environment = {
    GJALLAR_PORT: 'tcp://10.0.0.1:80',
    GJALLAR_SERVICE_HOST: '10.0.0.1',
    GJALLAR_SERVICE_PORT: '80',
  };
  expect(unknownVariables(environment, false)).toEqual([]);
  expect(unknownVariables(environment, true)).toEqual([]);
});

test('a secret may be in a file', () => {
  expect(loadConfig({ JWT_SECRET_FILE: text }).jwtSecret).toBe('neither key nor certificate');
  expect(() => loadConfig({ JWT_SECRET_FILE: '/nowhere' })).toThrow(
    /^JWT_SECRET_FILE must name a readable file: ENOENT/,
  );
  expect(loadConfig({ PORT_FILE: text }).port).toBe(3000);
});

test.each([
  ['the chat service', allOptions, loadConfig],
  ['gjallar run', runOptions, loadRunConfig],
] as const)('an empty file of a secret stops the start of %s', (_what, specs, load) => {
  const secrets = Object.values(specs).filter(({ isSecret }) => isSecret);
  expect(secrets.length).toBeGreaterThan(2);
  for (const { name } of secrets) {
    expect(() => load({ [`${name}_FILE`]: '/dev/null' })).toThrow(
      `${name}_FILE must name a file with a value: /dev/null is empty`,
    );
  }
});

describe('a server', () => {
  let server: RunningServer;
  beforeAll(async () => {
    const misspelt = { JWT_SECRETS: 'x'.repeat(32) };
    server = await startServer({ WORKERS: '1', PORT: '0', TLS_KEY: key, TLS_CERT: cert, ...misspelt });
  });
  afterAll(() => server.stop());

  test('a misspelt variable is named at the start', async () => {
    expect(await server.logged(({ variable }) => variable === 'JWT_SECRETS')).toMatchObject({
      level: 'warn',
      msg: 'the variable JWT_SECRETS is unknown and has no effect; did you mean JWT_SECRET?',
    });
  });

  test('the server speaks https with TLS_KEY and TLS_CERT', async () => {
    expect(server.greeting).toContain(` https://127.0.0.1:${server.port} `);
    const request = get(`${server.url}/healthz`, { ca: readFileSync(cert), servername: 'localhost' });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    expect(response.statusCode).toBe(200);
    expect(response.headers['strict-transport-security']).toBe('max-age=31536000');
    response.destroy();
  });

  test('it can start again on its port, which no other one gets', async () => {
    await server.restart();
    expect(await runToEnd([], { HOST: '127.0.0.1', PORT: String(server.port), LOG_LEVEL: 'silent' })).toEqual({
      code: 1,
      stdout: '',
      stderr: `gjallar: cannot listen on PORT=${server.port} at HOST=127.0.0.1: another server uses this port; stop it, or set another PORT\n`,
    });
  });
});
