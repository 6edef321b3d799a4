import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { GjallarOptions } from '../../../src/index.js';
import { closeConnections, RawConnection } from '../../engine/support/tcp.js';
import { listener, serve } from '../fidelity/application.js';
import { checks } from '../fidelity/checks.js';
import { root } from '../support/package.js';
import { get } from '../support/requests.js';
import { classes, closeAll, run } from '../support/servers.js';

afterEach(async () => {
  closeConnections();
  await closeAll();
});

const [[, StockServer], [, Server]] = classes;

/** docs/move.md says why these are impossible over uWebSockets.js. */
const impossible = [
  'trailers of a request',
  'pipelined requests whose answers take time',
  'HTTP/1.0',
  'a malformed request line',
  '150 request headers',
];

const kinds: [string, typeof Server, Partial<GjallarOptions>, string[]][] = [
  ['socket.io', StockServer, {}, []],
  ["gjallar with portOwner: 'node'", Server, { portOwner: 'node' }, []],
  ['gjallar', Server, {}, impossible],
];

/** Serves a text, at once or later. */
const program = `
import { createServer } from 'node:http';
import { Server } from './dist/index.js';
const http = createServer((message, response) => {
  message.resume();
  if (message.url === '/later') setTimeout(() => response.end('later'), 50);
  else message.on('end', () => response.end('text'));
});
new Server(http);
http.listen(0, '127.0.0.1', () => process.send(http.address().port));
`;

test('there are 42 checks, and gjallar passes all but a few', () => {
  expect(Object.keys(checks)).toHaveLength(42);
  expect(impossible.filter((name) => !(name in checks))).toEqual([]);
});

test.each(kinds)('a handshake over polling on %s names its length', async (_name, Class, options) => {
  const { port } = await run(Class, listener, options);
  const response = await fetch(`http://127.0.0.1:${port}/socket.io/?EIO=4&transport=polling`);
  const body = await response.text();
  expect(response.headers.get('content-length')).toBe(`${Buffer.byteLength(body)}`);
  expect(response.headers.get('transfer-encoding')).toBe(null);
});

describe.each(kinds)('an application on %s', (_name, Class, options, failing) => {
  test.each(Object.keys(checks))('has %s', async (name) => {
    const { io, port } = await run(Class, listener, options);
    serve(io);
    const passed = checks[name]!(port);
    if (failing.includes(name)) await expect(passed).rejects.toThrow();
    else await passed;
  });
});

test.each([
  ['GET /text HTTP/1.0\r\n\r\n'],
  ['NOT HTTP AT ALL\r\n\r\n'],
  [`GET /text HTTP/1.1\r\nHost: x\r\n${'a: b\r\n'.repeat(150)}\r\n`],
  ['GET /later HTTP/1.1\r\nHost: x\r\n\r\nGET /text HTTP/1.1\r\nHost: x\r\n\r\n'],
  ['POST /trailers HTTP/1.1\r\nHost: x\r\nTrailer: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\na: b\r\n\r\n'],
])('the first time that a client sends %j, one line names the option', async (bytes) => {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
  });
  try {
    let errors = '';
    child.stderr!.on('data', (text) => {
      errors += text;
    });
    const [port] = (await once(child, 'message')) as [number];
    expect((await get(port, '/text')).status).toBe(200);
    for (let round = 0; round < 2; round++) {
      const connection = await RawConnection.to(port);
      connection.write(bytes);
      await connection.closed;
    }
    child.kill();
    await once(child, 'close');
    expect(errors.match(/portOwner: 'node'/g)).toHaveLength(1);
  } finally {
    child.kill('SIGKILL');
  }
});
