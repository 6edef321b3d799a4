import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Socket } from 'socket.io-client';
import { movesConnections } from '../../../src/cluster/primary/ports.js';
import { loadConfig } from '../../../src/host/config/load.js';
import { connect, connected, disconnectAll, nextEvent, upgraded, workerOf } from '../../support/clients.js';
import { freePort, freePorts } from '../../support/ports.js';
import { runToEnd, startServer } from '../../support/server.js';
import { until } from '../../support/until.js';
import { pathOf, type RunningApplication, runApp, stopAll } from './support/application.js';
import '../../support/long.js';

const WORKERS = 3;

afterEach(disconnectAll);

/** The process that answers at a port; undefined if none does. */
async function pidAt(port: number, onError: (code: unknown) => void = () => {}): Promise<number | undefined> {
  try {
    // A connection of its own: one that is kept alive stays with an old worker.
    const response = await fetch(`http://127.0.0.1:${port}/pid`, { headers: { connection: 'close' } });
    return ((await response.json()) as { pid: number }).pid;
  } catch (error) {
    onError(((error as Error).cause as NodeJS.ErrnoException | undefined)?.code);
    return undefined;
  }
}

describe('the workers of gjallar run', () => {
  let app: RunningApplication;
  let ports: number[];
  beforeAll(async () => {
    const first = await freePorts(WORKERS);
    app = await runApp('chat.mjs', { env: { WORKERS: String(WORKERS), WORKER_PORTS: String(first) } });
    ports = Array.from({ length: WORKERS }, (_, place) => first + place);
  });
  afterAll(stopAll, 60_000);

  test('listen on a port of their own each, besides the shared one', async () => {
    expect(app.ports.slice(1).sort()).toEqual(ports);
    const pids = await Promise.all(ports.map((port) => pidAt(port)));
    expect(new Set(pids).size).toBe(WORKERS);
    expect(await Promise.all(ports.map((port) => pidAt(port)))).toEqual(pids);
    expect(pids).toContain(await pidAt(app.port));
    // Polling and WebSocket reach the worker of the port, and rooms span all of them.
    const clients = ports.map((port) => connect(`http://127.0.0.1:${port}`));
    await Promise.all(clients.map(upgraded));
    expect(await Promise.all(clients.map((client) => (client as Socket).emitWithAck('pid')))).toEqual(pids);
    const heard = clients.map((client) => nextEvent(client, 'said'));
    (clients[0] as Socket).emit('say', 'Hello!');
    expect(await Promise.all(heard)).toEqual(clients.map(() => ['Hello!']));
  });

  test('the replacement of a worker that has died has its port', async () => {
    const before = await Promise.all(ports.map((port) => pidAt(port)));
    process.kill(before[1]!, 'SIGKILL');
    await until(async () => ![undefined, before[1]].includes(await pidAt(ports[1]!)));
    const after = await Promise.all(ports.map((port) => pidAt(port)));
    expect([after[0], after[2]]).toEqual([before[0], before[2]]);
    expect(after).not.toContain(before[1]);
  });

  test('after a reload, each port reaches the new worker, and no connection is refused meanwhile', async () => {
    const before = await Promise.all(ports.map((port) => pidAt(port)));
    app.process.kill('SIGHUP');
    let isFinished = false;
    const finished = app
      .logged(({ msg }) => msg === 'reload finished')
      .then(() => {
        isFinished = true;
      });
    const errors: unknown[] = [];
    while (!isFinished) await Promise.all(ports.map((port) => pidAt(port, (code) => errors.push(code))));
    await finished;
    const after = await Promise.all(ports.map((port) => pidAt(port)));
    expect(new Set(after).size).toBe(WORKERS);
    expect(after.filter((pid) => before.includes(pid))).toEqual([]);
    expect(errors).not.toContain('ECONNREFUSED');
    // Each old worker closes its socket once. Some kernels reset a connection that waits there.
    expect(errors.length).toBeLessThanOrEqual(movesConnections() ? 0 : WORKERS);
  });
});

test('the workers of the chat service have ports of their own, too', async () => {
  const first = await freePorts(2);
  const server = await startServer({ WORKER_PORTS: String(first) });
  try {
    const clients = [first, first + 1].flatMap((port) => [
      connect(`http://127.0.0.1:${port}`),
      connect(`http://127.0.0.1:${port}`, { transports: ['websocket'] }),
    ]);
    await Promise.all(clients.map(connected));
    const [a, b, c, d] = await Promise.all(clients.map((client) => workerOf(client)));
    expect([a === b, c === d, a === c]).toEqual([true, true, false]);
  } finally {
    await server.stop();
  }
});

test('ports that cannot be used are reported in one line', async () => {
  const port = await freePort();
  const other = createServer().listen(port, '127.0.0.1');
  await once(other, 'listening');
  const environment = { HOST: '127.0.0.1', PORT: '0', WORKERS: '1' };
  const results = [
    await runToEnd([], { ...environment, WORKER_PORTS: String(port) }),
    await runToEnd(['run', pathOf('chat.mjs')], { ...environment, WORKER_PORTS: String(port) }),
    await runToEnd([], { ...environment, PORT: '3001', WORKERS: '4', WORKER_PORTS: '3000' }),
    await runToEnd([], { ...environment, GJALLAR_SOCKETS: 'portable', WORKER_PORTS: '3000' }),
  ];
  other.close();
  expect(results.map(({ code }) => code)).toEqual([1, 1, 1, 1]);
  const [taken, takenInApplication, overlapping, portable] = results.map(({ stderr }) => stderr);
  expect(taken).toContain(`cannot listen on port ${port} at HOST=127.0.0.1: another process uses it`);
  expect(takenInApplication).toMatch(
    new RegExp(`EADDRINUSE.*:${port}: it is one of the ports from WORKER_PORTS=${port}; stop the process`),
  );
  expect(overlapping).toContain('PORT=3001 is one of the 4 ports from WORKER_PORTS=3000');
  expect(portable).toContain('WORKER_PORTS requires native sockets');
  const tooHigh = { ...environment, WORKERS: '4', WORKER_PORTS: '65533' };
  expect(() => loadConfig(tooHigh)).toThrow('WORKER_PORTS must be an integer from 1 to 65535');
});
