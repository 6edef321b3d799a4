import { afterEach, describe, expect, test } from '@jest/globals';
import { socketsInUse } from '../../../../src/engine/uws/uws.js';
import { closeConnections, RawConnection } from '../../../engine/support/tcp.js';
import { classes, closeAll, run } from '../support/servers.js';

const [, [, Server]] = classes;
const isNative = socketsInUse.kind === 'native';

afterEach(async () => {
  closeConnections();
  await closeAll();
});

const POLLING = '/socket.io/?EIO=4&transport=polling';
/** Of a server without a handler, node:http answers only what is Socket.IO's. */
const paths = isNative ? ['/none', '/socket.io/socket.io.js', POLLING] : [POLLING];
const headers = [
  'X-Forwarded-For: 192.0.2.1',
  'x-forwarded-proto: https',
  'X-Amzn-Trace-Id: Root=1-67891233-abcdef012345678912345678',
  'Via: 1.1 google',
  'Forwarded: for=192.0.2.1',
  'X-Real-IP: 192.0.2.1',
];

/** Whether the response to a request ends its connection. */
async function isLast(port: number, path: string, header: string, method = 'GET'): Promise<boolean> {
  const connection = await RawConnection.to(port);
  connection.write(`${method} ${path} HTTP/1.1\r\nHost: x\r\n${header && `${header}\r\n`}\r\n`);
  await connection.responses(1);
  const announced = /\r\nconnection: close\r\n/i.test(connection.received);
  if (announced) connection.socket.end();
  else connection.write(`GET ${POLLING} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
  const received = await connection.closed;
  if (!announced) expect(received).toMatch(/0\{"sid"/);
  return announced;
}

describe('a response to a request of a proxy', () => {
  test.each(headers)('ends its connection, if uWebSockets.js owns the port: %s', async (header) => {
    const { port } = await run(Server);
    for (const path of paths) expect([path, await isLast(port, path, header)]).toEqual([path, isNative]);
  });

  test('leaves its connection open on a port of node:http', async () => {
    const { port } = await run(Server, (_message, response) => response.end());
    for (const path of ['/', POLLING]) expect(await isLast(port, path, headers[0]!)).toBe(false);
  });

  test('arrives although the request is still being sent', async () => {
    const { port } = await run(Server, undefined, { maxHttpBufferSize: 100, keepAlive: 'off' });
    const length = 50_000_000;
    const connection = await RawConnection.to(port);
    connection.write(`POST ${POLLING} HTTP/1.1\r\nHost: x\r\n${headers[0]}\r\nContent-Length: ${length}\r\n\r\n`);
    connection.write('x'.repeat(length / 2));
    await connection.responses(1);
    expect(connection.received).toMatch(/connection: close\r\n/i);
    connection.write('x'.repeat(length / 2));
    connection.socket.end();
    expect(await connection.closed).toMatch(/^HTTP\/1\.1 400 /);
  });
});

test('a client that connects directly keeps its connection', async () => {
  const { port } = await run(Server);
  for (const path of paths) expect(await isLast(port, path, '')).toBe(false);
});

test('with keepAlive "on", a proxy keeps its connection', async () => {
  const { port } = await run(Server, undefined, { keepAlive: 'on' });
  expect(await isLast(port, POLLING, headers[0]!)).toBe(false);
});

test('with keepAlive "off", nobody keeps a connection', async () => {
  for (const listener of [undefined, () => {}]) {
    const { port } = await run(Server, listener, { keepAlive: 'off' });
    expect(await isLast(port, POLLING, '')).toBe(true);
  }
});
