import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterEach, describe, expect, test } from '@jest/globals';
import { socketsInUse } from '../../../src/compat/uws.js';
import { closeConnections, RawConnection } from '../../engine/support/tcp.js';
import { classes, closeAll, run } from '../support/servers.js';

const [, [, Server]] = classes;
const large = 'x'.repeat(300_000);
/** Portable sockets keep idle connections for longer than load balancers do. */
const ofProxies = socketsInUse.kind === 'native' ? 'close' : 'keep-alive';

afterEach(async () => {
  closeConnections();
  await closeAll();
});

function listener({ method, url }: IncomingMessage, response: ServerResponse): void {
  if (url === '/keep-alive') response.setHeader('Connection', 'keep-alive');
  if (url === '/none') response.writeHead(204).end();
  else if (url === '/not-modified') response.writeHead(304).end();
  else if (url === '/large') response.end(large);
  else if (url === '/stream') {
    response.write('one');
    setImmediate(() => response.end('two'));
  } else response.end(method);
}

const paths = [
  '/',
  '/keep-alive',
  '/none',
  '/not-modified',
  '/large',
  '/stream',
  '/socket.io/?EIO=4&transport=polling',
];
const headers = [
  'X-Forwarded-For: 192.0.2.1',
  'x-forwarded-proto: https',
  'X-Amzn-Trace-Id: Root=1-67891233-abcdef012345678912345678',
  'Via: 1.1 google',
  'Forwarded: for=192.0.2.1',
  'X-Real-IP: 192.0.2.1',
];

/** What happens to the connection of a request: the headers `Connection` of its response, and whether it ends. */
async function outcomeOf(port: number, path: string, header: string, method = 'GET') {
  const connection = await RawConnection.to(port);
  connection.write(`${method} ${path} HTTP/1.1\r\nHost: x\r\n${header && `${header}\r\n`}\r\n`);
  await connection.responses(1);
  const [head] = connection.received.split('\r\n\r\n', 1);
  const announced = (head!.match(/^connection: .*$/gim) ?? []).map((line) => line.slice(12));
  if (announced[0] === 'close') {
    // As a proxy would.
    connection.socket.end();
    await connection.closed;
  } else {
    connection.write('GET /again HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    expect(await connection.closed).toMatch(/HTTP\/1\.1 200 OK\r\n(?:.+\r\n)+\r\nGET$/i);
  }
  return { announced, received: connection.received };
}

describe('a response to a request of a proxy', () => {
  test.each(paths)('announces the end of its connection: %s', async (path) => {
    const { port } = await run(Server, listener);
    const { announced, received } = await outcomeOf(port, path, headers[0]!);
    expect(announced).toEqual(ofProxies === 'close' ? ['close'] : announced.filter((value) => value === 'keep-alive'));
    if (path === '/large') expect(received).toContain(large);
    if (path === '/stream') expect(received).toMatch(/one\r\n[\s\S]*two/);
  });

  test.each(headers)('is known by %s', async (header) => {
    const { port } = await run(Server, listener);
    for (const path of ['/', paths.at(-1)!]) {
      const { announced } = await outcomeOf(port, path, header);
      expect([path, announced.includes('close')]).toEqual([path, ofProxies === 'close']);
    }
  });

  test('has an end that the server makes itself, if its body is small', async () => {
    const { port } = await run(Server, listener, { keepAlive: 'off' });
    for (const path of ['/', paths.at(-1)!]) {
      const connection = await RawConnection.to(port);
      connection.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
      expect(await connection.closed).toMatch(/connection: close\r\n/i);
    }
  });

  test('arrives although the request is still being sent', async () => {
    const { port } = await run(Server, listener, { maxHttpBufferSize: 100 });
    const length = 50_000_000;
    for (const path of ['/', paths.at(-1)!]) {
      const connection = await RawConnection.to(port);
      connection.write(`POST ${path} HTTP/1.1\r\nHost: x\r\n${headers[0]}\r\nContent-Length: ${length}\r\n\r\n`);
      connection.write('x'.repeat(length / 2));
      await connection.responses(1);
      expect(connection.received).toMatch(/connection: close\r\n/i);
      connection.write('x'.repeat(length / 2));
      connection.socket.end();
      expect(await connection.closed).toMatch(
        path === '/' ? /\r\n\r\n4\r\nPOST\r\n0\r\n.*\r\n\r\n$/ : /^HTTP\/1\.1 400 /,
      );
    }
  });

  test('has no body, and the same header, if the request is a HEAD', async () => {
    const { port } = await run(Server, listener, { keepAlive: 'off' });
    const { announced, received } = await outcomeOf(port, '/', '', 'HEAD');
    expect(announced).toEqual(['close']);
    expect(received).toMatch(/\r\n\r\n$/);
  });
});

test.each(paths)('a client that connects directly keeps its connection: %s', async (path) => {
  const { port } = await run(Server, listener);
  expect((await outcomeOf(port, path, '')).announced).not.toContain('close');
});

test.each(paths)('with keepAlive "on", a proxy keeps its connection: %s', async (path) => {
  const { port } = await run(Server, listener, { keepAlive: 'on' });
  expect((await outcomeOf(port, path, headers[0]!)).announced).not.toContain('close');
});

test.each(paths)('with keepAlive "off", nobody keeps a connection: %s', async (path) => {
  const { port } = await run(Server, listener, { keepAlive: 'off' });
  expect((await outcomeOf(port, path, '')).announced).toEqual(['close']);
});
