import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { Server } from 'socket.io';
import { Manager } from 'socket.io-client';
import { play } from '../../../src/cli/compare/drive/player.js';
import type { Step } from '../../../src/record/steps.js';
import { pass } from '../../support/until.js';

let io: Server | undefined;
afterEach(() => io?.close());

/** A server that accepts the client `slow` only when `accepted` resolves. */
async function startServer(accepted: Promise<void>) {
  const server = createServer();
  io = new Server(server);
  io.use((socket, next) => {
    if (socket.handshake.query.name !== 'slow') return next();
    void accepted.then(() => next());
  });
  io.on('connection', (socket) => {
    socket.broadcast.emit('joined', socket.handshake.query.name);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { host: '127.0.0.1', port: (server.address() as AddressInfo).port };
}

const steps: Step[] = [
  { at: 0, client: 'a', do: 'open', transport: 'websocket', query: { name: 'slow' } },
  { at: 0, client: 'a', do: 'connect', namespace: '/' },
  { at: 1, client: 'a', do: 'connected', namespace: '/' },
  { at: 1, client: 'b', do: 'open', transport: 'websocket', query: { name: 'fast' } },
  { at: 1, client: 'b', do: 'connect', namespace: '/' },
  { at: 2, client: 'b', do: 'connected', namespace: '/' },
  { at: 2, client: 'b', do: 'close' },
  { at: 2, client: 'a', do: 'close' },
];

const options = { Manager, path: '/socket.io/', auth: undefined, headers: {}, speed: 10, settleMs: 50 };

test('a client that was connected before another connects before it, however slow the server is', async () => {
  let accept = () => {};
  const accepted = new Promise<void>((resolve) => {
    accept = resolve;
  });
  const address = await startServer(accepted);
  // If the other client did not wait, it would connect, and let the slow one in.
  io?.on('connection', () => accept());
  io?.engine.once('connection', () => void pass(200).then(accept));
  const { observed } = await play(steps, address, options as never);
  expect(observed['client a on /']).toEqual([
    ['connect'],
    ['event', 'joined', 'fast'],
    ['disconnect', 'io client disconnect'],
  ]);
});

test('a connect that is never answered holds up the play once', async () => {
  const address = await startServer(new Promise(() => {}));
  const [, , , ...others] = steps;
  const again = steps.slice(0, 3).map((step) => ({ ...step, client: 'c' }) as Step);
  const { observed, durationMs } = await play([...steps.slice(0, 3), ...again, ...others], address, options as never);
  expect(observed['client b on /']).toEqual([['connect'], ['disconnect', 'io client disconnect']]);
  expect(durationMs).toBeGreaterThan(3000);
});
