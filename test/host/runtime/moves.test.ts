import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { serialize } from 'node:v8';
import { expect, test } from '@jest/globals';
import { machineTime } from '../../../src/base/clock.js';
import { sendableHandleOf } from '../../../src/engine/node/node-net.private.js';
import { Moves } from '../../../src/host/runtime/lifecycle/moves.js';
import { Orders } from '../../../src/host/runtime/lifecycle/orders.js';

test('a client that arrives after its worker has given it up is disconnected: it may have returned already', async () => {
  const server = createServer({ pauseOnConnect: true }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const told: unknown[] = [];
  const arrived: string[] = [];
  const arrive = ({ id }: { id: string }, _connection: unknown, over: (session: undefined) => void) => {
    arrived.push(id);
    over(undefined);
  };
  const orders = new Orders(() => {});
  new Moves(
    {
      orders,
      mesh: { on: () => {} },
      engines: [{ arrive }],
      relays: [{ tellArrived: (...what: unknown[]) => told.push(what) }],
      servers: [],
    } as never,
    { nameOf: String } as never,
  );
  const take = async (id: string, leftAt: number) => {
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
    const [socket] = await once(server, 'connection');
    const state = serialize({ id, connects: [], leftAt }).toString('base64');
    orders.onTakeOver(
      { type: 'takeOver', from: 3, session: { engine: 0, state, rest: '', compresses: false } },
      sendableHandleOf(socket),
    );
    await once(client.resume(), 'close');
  };
  await take('late', machineTime() - 60_000);
  await take('in time', machineTime());
  expect(told).toEqual([
    ['3', 'late', 'too slow'],
    ['3', 'in time', 'not let in'],
  ]);
  expect(arrived).toEqual(['in time']);
  server.close();
});
