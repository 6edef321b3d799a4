import { afterEach, describe, expect, test } from '@jest/globals';
import { connect, disconnectAll, upgraded } from '../../support/clients.js';
import { startServer } from '../../support/server.js';
import { closeEngines, startEngine } from '../support/engine.js';
import { closeWebSockets, openPolling, openWebSocket } from '../support/raw.js';
import { closeConnections, RawConnection } from '../support/tcp.js';

afterEach(() => {
  disconnectAll();
  closeConnections();
  closeWebSockets();
  closeEngines();
});

const KEY = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==';

/** Resolves with the head of the response to a request for a WebSocket with these headers. */
async function answerTo(...headers: string[]): Promise<string> {
  const { engine, port } = await startEngine();
  const connection = await RawConnection.to(port);
  const lines = [
    'GET /socket.io/?EIO=4&transport=websocket HTTP/1.1',
    'Host: x',
    'Upgrade: websocket',
    KEY,
    ...headers,
  ];
  connection.write(`${lines.join('\r\n')}\r\n\r\n`);
  await connection.responses(1);
  if (!connection.received.includes('101')) expect(engine.clientsCount).toBe(0);
  return connection.received;
}

describe('a request for a WebSocket', () => {
  test.each([['8'], ['12'], [''], ['13, 8']])('of version %p is told which version to use', async (version) => {
    const answer = await answerTo('Connection: Upgrade', `Sec-WebSocket-Version: ${version}`);
    expect(answer).toMatch(/^HTTP\/1.1 426 Upgrade Required\r\n/);
    expect(answer).toMatch(/\r\nsec-websocket-version: 13\r\n/i);
  });

  test('without a version is told which version to use', async () => {
    expect(await answerTo('Connection: Upgrade')).toMatch(/^HTTP\/1.1 426 [\s\S]*\r\nsec-websocket-version: 13\r\n/i);
  });

  test.each([[[]], [['Connection: keep-alive']], [['Connection: close']]])(
    'with the headers %p is a bad request',
    async (headers) => {
      expect(await answerTo('Sec-WebSocket-Version: 13', ...headers)).toMatch(/^HTTP\/1.1 400 /);
    },
  );

  test.each(['Upgrade', 'upgrade', 'keep-alive, Upgrade'])('with Connection: %s is accepted', async (value) => {
    expect(await answerTo('Sec-WebSocket-Version: 13', `Connection: ${value}`)).toMatch(/^HTTP\/1.1 101 /);
  });
});

describe('a request', () => {
  const path = '/socket.io/?EIO=4&transport=polling';
  const next = `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;

  test.each([
    ['a method that is not letters', `G=T ${path} HTTP/1.1\r\nHost: x\r\n\r\n`],
    ['a method with digits', `GET2 ${path} HTTP/1.1\r\nHost: x\r\n\r\n`],
    ['no Host', `GET ${path} HTTP/1.1\r\nX: y\r\n\r\n`],
  ])('with %s is answered 400, and closes the connection', async (_name, request) => {
    const { engine, port } = await startEngine();
    const connection = await RawConnection.to(port);
    connection.write(request);
    await connection.closed;
    expect(connection.statuses).toEqual(['HTTP/1.1 400 Bad Request']);
    const other = await RawConnection.to(port);
    other.write(request + next);
    await other.closed;
    expect(engine.clientsCount).toBe(0);
    expect(other.statuses.filter((status) => !status.includes('400'))).toEqual([]);
  });

  test('that follows the trailers of a chunked body is never served, and neither are the trailers', async () => {
    const { engine, port, url } = await startEngine();
    let sessions = 0;
    engine.on('connection', () => sessions++);
    const { sid } = await openPolling(url);
    const post = `POST ${path}&sid=${sid} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n4a\r\n0\r\n`;
    for (const trailers of ['', `GET ${path} HTTP/1.1\r\nHost: x\r\n`, `X: y\r\nGET ${path} HTTP/1.1\r\nHost: x\r\n`]) {
      const connection = await RawConnection.to(port);
      connection.write(`${post}${trailers}\r\n${next}`);
      await connection.closed;
      expect(connection.statuses.length).toBeLessThanOrEqual(1);
      expect(sessions).toBe(1);
    }
  });

  test('with a chunked body is answered, and its connection closed', async () => {
    const { port, url, nextSession } = await startEngine();
    const opened = nextSession();
    const { sid } = await openPolling(url);
    const received = new Promise((resolve) => void opened.then((session) => session.on('data', resolve)));
    const connection = await RawConnection.to(port);
    const head = `POST ${path}&sid=${sid} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`;
    connection.write(`${head}2\r\n4a\r\n0\r\n\r\n`);
    const response = await connection.closed;
    expect(response).toMatch(/^HTTP\/1.1 200 OK\r\n[\s\S]*ok$/);
    expect(response).toMatch(/\r\nconnection: close\r\n/i);
    expect(await received).toBe('a');
  });
});

test('every response of the engine forbids browsers to guess its type', async () => {
  const { url } = await startEngine();
  const client = await openPolling(url);
  const requests = [
    fetch(`${url}&transport=polling`),
    fetch(client.url, { method: 'POST', body: '4a' }),
    fetch(`${url}&transport=polling&sid=unknown`),
    fetch(`${url}&transport=pigeon`),
  ];
  for (const response of await Promise.all(requests)) {
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
  }
  expect(client.headers.get('x-content-type-options')).toBe('nosniff');
});

test('nothing is written to the standard error while default clients connect to four workers', async () => {
  const server = await startServer({ WORKERS: '4' });
  let errors = '';
  server.process.stderr!.on('data', (chunk) => {
    errors += chunk;
  });
  try {
    await Promise.all(Array.from({ length: 20 }, () => upgraded(connect(server.url))));
    // An upgrade that is admitted asynchronously, alone.
    const client = openWebSocket(`${server.url}/socket.io/?EIO=4`);
    await client.next();
  } finally {
    disconnectAll();
    await server.stop();
  }
  expect(errors).toBe('');
});
