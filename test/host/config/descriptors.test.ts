import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { expect, test } from '@jest/globals';
import { connectionsWithin, maxDescriptors, openDescriptors } from '../../../src/base/system-limits.js';
import { descriptorLimit } from '../../../src/host/config/limits.js';
import { own } from '../../support/children.js';
import { startServer } from '../../support/server.js';
import { until } from '../../support/until.js';

/** What runs the rest of its arguments with at most so many open files. */
const limited = (files: number) => ['sh', '-c', 'ulimit -n "$0"; exec "$@"', String(files)];

test('open descriptors are counted', () => {
  const before = openDescriptors()!;
  const opened = Array.from({ length: 50 }, () => openSync('/dev/null', 'r'));
  expect(openDescriptors()! - before).toBeGreaterThanOrEqual(45);
  for (const descriptor of opened) closeSync(descriptor);
  expect(openDescriptors()!).toBeLessThan(maxDescriptors()!);
});

test.each([
  ['1,024 descriptors on a machine with 8 GiB', 1024, 2 ** 33, true],
  ['65,536 descriptors on a large machine', 65_536, 2 ** 40, false],
  ['10,000 descriptors in a container with 256 MiB', 10_000, 2 ** 28, false],
])('%s: low is %p', (_what, max, memory, isLow) => {
  expect(descriptorLimit(2, max, memory)).toMatchObject({ max, isLow });
});

test.each([64, 100, 300, 511, 512, 1024, 65_536])('a limit of %i leaves room beside the connections', (limit) => {
  const open = 38;
  const connections = connectionsWithin(limit, open);
  expect(connections).toBeLessThanOrEqual(limit - open - 26);
  expect(connections).toBeGreaterThanOrEqual(Math.min(limit - 256, 0.7 * limit - 70));
});

test('a limit of 300 is reported at the start; of 300 connections, each is served or closed', async () => {
  const server = await startServer({ WORKERS: '1', HISTORY_TTL: '0', MAX_CONNECTIONS_PER_IP: '' }, limited(300));
  const logged = (pattern: RegExp) => server.logged(({ msg = '' }) => pattern.test(msg));
  expect(await logged(/^the limit of open files is too small/)).toMatchObject({
    level: 'error',
    max: 300,
    connections: 225,
  });
  const sockets = Array.from({ length: 300 }, () => connect(server.port, '127.0.0.1'));
  const ends = sockets.map(async (socket) => {
    socket.on('error', () => {});
    socket.write('GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n');
    return Promise.race([
      once(socket, 'data').then(([data]) => String(data).split('\r\n', 1)[0]),
      once(socket, 'close').then(() => 'closed'),
    ]).catch(() => 'closed');
  });
  const outcomes = await Promise.all(ends);
  const served = outcomes.filter((outcome) => outcome === 'HTTP/1.1 200 OK').length;
  const closed = outcomes.filter((outcome) => outcome === 'closed').length;
  expect(served + closed).toBe(300);
  expect(served).toBeGreaterThanOrEqual(200);
  expect(closed).toBeGreaterThanOrEqual(75);
  expect(await logged(/^the worker is about to run out of file descriptors/)).toMatchObject({ level: 'error' });
  for (const socket of sockets) socket.destroy();
  await server.stop();
});

test('the start warns of a limit that is low for the machine, and the metrics have it', async () => {
  const server = await startServer({ WORKERS: '1', HISTORY_TTL: '0' }, limited(700));
  expect(await server.logged(({ level }) => level === 'warn')).toMatchObject({
    max: 700,
    msg: expect.stringMatching(/^the limit of open files is low for the memory of this machine/),
  });
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  expect(metrics).toMatch(/^process_max_fds\{worker="1"\} 700$/m);
  expect(Number(/^process_open_fds\{worker="1"\} (\d+)$/m.exec(metrics)![1])).toBeGreaterThan(5);
  await server.stop();
});

test('a library that closes connections beyond its descriptors does not say that the clients left', async () => {
  const index = new URL('../../../dist/index.js', import.meta.url);
  const application = `
    import { createServer } from 'node:http';
    import { Server } from '${index}';
    process.on('warning', ({ code }) => console.log('warning', code));
    const http = createServer();
    new Server(http);
    http.listen(0, '127.0.0.1', () => console.log('port', http.address().port));`;
  const [shell = '', ...limit] = limited(300);
  const args = [...limit, process.execPath, '--no-warnings', '--input-type=module', '--eval', application];
  const child = own(spawn(shell, args, { stdio: ['ignore', 'pipe', 'inherit'] }), 'SIGTERM');
  const lines: string[] = [];
  createInterface(child.stdout).on('line', (line) => lines.push(line));
  await until(() => lines.length > 0);
  const port = Number(lines.shift()!.split(' ')[1]);
  let refused = 0;
  const sockets = Array.from({ length: 300 }, () => connect(port, '127.0.0.1').on('error', () => {}));
  for (const socket of sockets) socket.on('close', () => refused++);
  await until(() => refused >= 75);
  expect(lines).toEqual([]);
  for (const socket of sockets) socket.destroy();
  child.kill('SIGTERM');
  await once(child, 'exit');
});
