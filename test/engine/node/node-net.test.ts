import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import {
  missingInNet,
  missingInSocket,
  responseOn,
  sendableHandleOf,
  socketOn,
  stopReading,
  tcpHandleOf,
  unsentBytes,
} from '../../../src/engine/node/node-net.private.js';
import { until } from '../../support/until.js';

test('node:http says on the socket which request it is answering', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  const [{ socket }, response] = await once(server, 'request');
  expect(responseOn(socket)).toBe(response);
  response.end();
  await once(response, 'finish');
  await new Promise(setImmediate);
  expect(responseOn(socket)).toBe(null);
  client.destroy();
  server.close();
});

test('this version of Node.js has the private parts of node:net that the takeover of a port relies on', async () => {
  const server = createServer();
  expect(missingInNet(server)).toEqual([]);
  expect(tcpHandleOf(server)).toBeUndefined();
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  expect(tcpHandleOf(server)).toBeDefined();
  await new Promise((resolve) => server.close(resolve));
});

test('this version of Node.js has the private parts of node:net that tell the progress of a long write', async () => {
  const server = createTcpServer({ pauseOnConnect: true }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [other] = await once(server, 'connection');
  const length = 64 * 1024 * 1024;
  socket.write(Buffer.alloc(length));
  socket.write('more');
  expect(missingInSocket(socket)).toEqual([]);
  const before = unsentBytes(socket);
  expect(before).toBeGreaterThan(0);
  expect(before).toBeLessThanOrEqual(length + 4);
  other.resume();
  await once(socket, 'drain');
  expect(unsentBytes(socket)).toBe(0);
  for (const end of [socket, other]) end.destroy();
  server.close();
});

test('what comes after a connection was stopped, in the middle of a chunk, stays in the kernel', async () => {
  const server = createTcpServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const client = connect(port, '127.0.0.1');
  const [socket] = (await once(server, 'connection')) as [Socket];
  const chunks: string[] = [];
  socket.on('data', (chunk) => {
    chunks.push(`stopped: ${chunk}`);
    stopReading(socket);
  });
  client.write('one');
  await until(() => chunks.length > 0);
  client.write('two');
  // A connection that is made later is accepted later.
  const other = connect(port, '127.0.0.1');
  await once(server, 'connection');
  const next = socketOn(sendableHandleOf(socket)).on('data', (chunk) => chunks.push(`next: ${chunk}`));
  next.resume();
  await until(() => chunks.length > 1);
  expect(chunks).toEqual(['stopped: one', 'next: two']);
  for (const end of [next, client, other]) end.destroy();
  server.close();
});

/** A worker that answers each chunk, and passes its connection on with `!`; and the primary, which does not read from it. */
const workers = `
  import cluster from 'node:cluster';
  import { once } from 'node:events';
  import { createServer } from 'node:net';
  import { canPass, sendableHandleOf, socketOn, stopReading } from MODULE;
  const answer = (socket) => socket.on('data', (chunk) => {
    socket.write(process.env.NAME + ':' + chunk);
    if (!String(chunk).endsWith('!')) return;
    if (!canPass(socket)) throw new Error('it cannot be passed');
    stopReading(socket);
    process.send('pass', sendableHandleOf(socket), () => socket.destroy());
  });
  if (cluster.isPrimary) {
    const [old, next] = ['old', 'next'].map((NAME) => cluster.fork({ NAME }));
    let passed;
    // A message to a worker that does not listen yet is lost.
    const ready = Promise.all([old, next].map((worker) => once(worker, 'message')));
    ready.then(([[{ port }]]) => process.send(port));
    cluster.on('message', (worker, message, handle) => {
      if (message !== 'pass') return;
      passed = handle;
      process.send('passed');
    });
    process.on('message', () => next.send('take', passed, () => passed.close()));
    process.on('disconnect', () => process.exit());
  } else if (process.env.NAME === 'old') {
    const server = createServer(answer).listen({ port: 0, host: '127.0.0.1', exclusive: true }, () => process.send({ port: server.address().port }));
  } else {
    process.on('message', (message, handle) => {
      const socket = socketOn(handle);
      answer(socket);
      setTimeout(() => socket.resume(), 20);
    });
    process.send('ready');
  }
`;

test('a connection goes from one process through another one to a third, with what its client sends meanwhile', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gjallar-handles-'));
  const file = join(folder, 'workers.mjs');
  const module = new URL('../../../build/engine/node/node-net.private.js', import.meta.url).href;
  writeFileSync(file, workers.replace('MODULE', JSON.stringify(module)));
  const primary = fork(file, { execArgv: [] });
  try {
    const [port] = await once(primary, 'message');
    const socket = connect(port as number, '127.0.0.1').setEncoding('utf8');
    let text = '';
    socket.on('data', (chunk: string) => {
      text += chunk;
    });
    socket.write('one');
    await until(() => text === 'old:one');
    socket.write('two!');
    await once(primary, 'message');
    // 64 KiB and more wait in the kernel, and no process may read them but the last one.
    socket.write('x'.repeat(100_000));
    primary.send('go on');
    await until(() => text.replaceAll('next:', '').length === 'old:oneold:two!'.length + 100_000);
    expect(text.replaceAll('next:', '').slice(0, 16)).toBe('old:oneold:two!x');
    expect(socket.destroyed).toBe(false);
    socket.destroy();
  } finally {
    primary.disconnect();
    rmSync(folder, { recursive: true });
  }
});
