import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { serialize } from 'node:v8';
import { afterEach, expect, test } from '@jest/globals';
import { machineTime } from '../../../src/base/clock.js';
import { socketOf } from '../../../src/cluster/protocol.js';
import type { Relay } from '../../../src/cluster/relay/relay.js';
import { ConnectionPipe } from '../../../src/engine/node/connection-pipe.private.js';
import { Moves } from '../../../src/host/runtime/lifecycle/moves.js';
import { Orders } from '../../../src/host/runtime/lifecycle/orders.js';
import { startWorker, stopWorkers } from '../../cluster/support/workers.js';
import { openPolling } from '../../engine/support/raw.js';
import { temporaryFolder } from '../../support/folder.js';
import { until } from '../../support/until.js';

afterEach(stopWorkers);

test('a client that arrives after its worker has given it up is disconnected: it may have returned already', async () => {
  const server = createServer({ pauseOnConnect: true }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const told: unknown[] = [];
  const arrived: string[] = [];
  const arrive = ({ id }: { id: string }, _connection: unknown, over: (session: undefined) => void) => {
    arrived.push(id);
    over(undefined);
  };
  const directory = temporaryFolder();
  const relay = { tellArrived: (...what: unknown[]) => told.push(what) } as unknown as Relay;
  const moves = new Moves(
    {
      orders: new Orders(() => {}),
      mesh: { on: () => {}, directory, id: 4 },
      engines: [{ arrive }],
      relays: [relay],
      servers: [],
    } as never,
    { nameOf: String } as never,
  );
  moves.watch({} as never, relay);
  await relay.onPrepare(serialize([]));
  const carrier = connect(socketOf(directory, 4, 'move')).pause();
  await once(carrier, 'connect');
  const pipe = new ConnectionPipe(
    carrier,
    () => {},
    () => {},
  );
  const take = async (id: string, leftAt: number) => {
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
    const [socket] = await once(server, 'connection');
    const state = serialize({ id, connects: [], leftAt });
    const peer = id === 'of another' ? '127.0.0.1 1' : `${socket.remoteAddress} ${socket.remotePort}`;
    pipe.send(serialize({ from: '3', engine: 0, state, rest: Buffer.alloc(0), compresses: false, peer }), socket);
    client.resume();
    const count = told.length;
    await until(() => told.length > count);
    // The other end has closed the connection, too.
    socket.destroy();
    await once(client, 'close');
  };
  await take('late', machineTime() - 60_000);
  await take('of another', machineTime());
  await take('in time', machineTime());
  expect(told).toEqual([
    ['3', 'late', 'too slow'],
    ['3', 'of another', 'the connection is another one'],
    ['3', 'in time', 'not let in'],
  ]);
  expect(arrived).toEqual(['in time']);
  server.close();
});

test('a client on polling whose move takes too long reconnects at once, whenever a middleware answers', async () => {
  // A session on polling does not wait for its WebSocket.
  const options = { allowUpgrades: false };
  const [old, successor] = [await startWorker(options), await startWorker(options)];
  old.engine.removeAllListeners('connection');
  const { engine, relay, io, mesh } = successor;
  const moves = new Moves(
    { orders: new Orders(() => {}), mesh, engines: [engine], relays: [relay], servers: [io] } as never,
    { nameOf: String } as never,
  );
  moves.watch(engine, relay);
  let answer = () => {};
  // It answers requests of known sessions alone.
  engine.use((request, _response, next) => {
    if (request._query.sid) next();
    else answer = next;
  });
  const failures: unknown[] = [];
  old.relay.onArrived = (_sid, failure) => failures.push(failure);
  const client = await openPolling(old.url);
  const session = old.engine.clients[client.sid]!;
  const polled = client.poll();
  await until(() => session.polling!.isQuiet);
  for (const worker of [old, successor]) worker.successors = [['1', '2']];
  const { id, request } = session;
  const { poll } = old.engine.handOver(session);
  // Almost all of its time is over.
  const leftAt = machineTime() - 4000;
  old.relay.handOver('2', id, serialize({ id, parts: request.toParts(), packets: [], connects: [], leftAt }), poll);
  await until(() => failures.length > 0);
  expect(failures).toEqual(['too slow']);
  expect(engine.clientsCount).toBe(0);
  expect(await polled).toEqual([400, expect.stringContaining('Session ID unknown')]);
  answer();
  expect(engine.clientsCount).toBe(0);
  expect(failures).toEqual(['too slow']);
});
