import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { get } from 'node:https';
import { createServer } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { isUnlimited } from '../../src/config/limits.js';
import { loadConfig } from '../../src/config/load.js';
import { runToEnd, startServer } from '../support/server.js';
import { cert, key, removeFiles, text, writeFiles } from './support/files.js';

beforeAll(writeFiles);
afterAll(removeFiles);

test('--version prints the version', async () => {
  expect(await runToEnd(['--version'])).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
});

test.each([['--workers'], ['4']])('the unknown argument %s stops the start with one line', async (argument) => {
  const { code, stdout, stderr } = await runToEnd([argument]);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(new RegExp(`^gjallar: [^\\n]*'${argument}'[^\\n]*; run gjallar --help for the options\\n$`));
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

test('a port in use stops the start with one line', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  try {
    const { port } = other.address() as { port: number };
    expect(await runToEnd([], { HOST: '127.0.0.1', PORT: String(port), LOG_LEVEL: 'silent' })).toEqual({
      code: 1,
      stdout: '',
      stderr: `gjallar: cannot listen on PORT=${port} at HOST=127.0.0.1: another server uses this port; stop it, or set another PORT\n`,
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
