import { createRequire } from 'node:module';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import * as lean from '../../../src/engine/parser/parser.js';
import { alone } from '../../../src/io/server/default-adapter.js';
import { bases } from '../../engine/bases/support/bases.js';
import { atEnd } from '../../support/ends.js';
import { until } from '../../support/until.js';
import { disconnectAll, type Pair, pairOn } from './support/clients.js';
import { Machine, startMember, startNode, type TestNode } from './support/node.js';
import { startStock } from './support/stock.js';
import { expectedOf, forValues, outcomesOn, outcomesOnStock, thrownBy, type Way } from './support/values.js';

const stockParser = createRequire(import.meta.url)('socket.io-parser') as object;
const polling = { transports: ['polling'] };

let stock: Awaited<ReturnType<typeof startStock>>;

beforeAll(async () => {
  stock = await startStock();
});
afterEach(disconnectAll);
afterAll(() => stock.close());

/** All receivers of a way get what stock sends, and the caller is told what cannot be sent. */
const asOnStock = (way: Way) =>
  forValues(stock, async (values, onStock) => {
    for (const outcomes of await outcomesOn(way, values)) expect(outcomes).toEqual(expectedOf(onStock));
  });

const clientsOf = (pairs: readonly Pair[]) => pairs.map(({ client }) => client);

async function roomOf(pairs: readonly Pair[], room: string | number = 'room'): Promise<void> {
  for (const { socket } of pairs) await socket.join(room as string);
}

test('stock breaks the connections of those who should get a Blob', async () => {
  expect(await outcomesOnStock(stock, [new Blob(['x']), 1, { file: new File(['x'], 'y') }])).toEqual([
    'broken',
    { arrived: 1 },
    'broken',
  ]);
});

describe.each(bases)('values on the %s base', (_name, base) => {
  describe.each([
    ["stock's parser", stockParser],
    ["gjallar's parser", lean],
  ])('with %s', (_parser, parser) => {
    let node: TestNode;

    beforeAll(async () => {
      node = await startNode(alone, { bases: [base], server: { parser } });
    });
    afterAll(() => node.close());

    test.each([
      ['a WebSocket', {}],
      ['polling', polling],
    ])('to one socket on %s', async (_transport, options) => {
      const { client, socket } = await pairOn(node, options);
      await asOnStock({ target: socket, receivers: [client] });
    });

    test.each([1, 2])('to a room of %d, and one more on polling', async (count) => {
      const pairs = await Promise.all(Array.from({ length: count }, () => pairOn(node)));
      pairs.push(await pairOn(node, polling));
      await roomOf(pairs);
      await asOnStock({ target: node.io.to('room'), receivers: clientsOf(pairs) });
    });

    test('to all', async () => {
      const pairs = await Promise.all([1, 2, 3].map(() => pairOn(node)));
      await asOnStock({ target: node.io, receivers: clientsOf(pairs) });
    });
  });
});

describe('values to other workers', () => {
  let machine: Machine;
  let nodes: TestNode[];

  beforeAll(async () => {
    machine = await Machine.start();
    nodes = [await startMember(await machine.openBackplane()), await startMember(await machine.openBackplane())];
    for (const { io } of nodes) await until(async () => (await io.of('/').adapter.serverCount()) === 2);
  });
  afterAll(async () => {
    for (const node of nodes) await node.close();
    await machine.remove();
  });

  /** One member at the sender, and several elsewhere. */
  const pairsInRoom = async (room?: string | number) => {
    const pairs = await Promise.all([0, 1, 1, 1].map((at) => pairOn(nodes[at]!)));
    await roomOf(pairs, room);
    return pairs;
  };

  test('to a room', async () => {
    const pairs = await pairsInRoom();
    await asOnStock({ target: nodes[0]!.io.to('room'), receivers: clientsOf(pairs) });
  });

  test('to a room whose name is a number, which is sent as it is', async () => {
    const pairs = await pairsInRoom(7);
    await asOnStock({ target: nodes[0]!.io.to(7 as never), receivers: clientsOf(pairs) });
  });

  test('to one socket by its id', async () => {
    const [, { client, socket }] = (await pairsInRoom()) as [Pair, Pair];
    await asOnStock({ target: nodes[0]!.io.to(socket.id), receivers: [client] });
  });

  test('to the servers themselves', async () => {
    const target = { emit: (event: string, ...values: unknown[]) => nodes[0]!.io.serverSideEmit(event, ...values) };
    await asOnStock({ target, receivers: [nodes[1]!.io as never] });
  });

  test('with an acknowledgement', async () => {
    const pairs = await pairsInRoom();
    for (const { client } of pairs) client.on('value', (...values: unknown[]) => (values.at(-1) as () => void)());
    const emit = (event: string, ...values: unknown[]) => {
      const room = nodes[0]!.io.to('room');
      // Nothing depends on the answers. If emit() throws, socket.io still waits for them.
      return event === 'end' ? room.emit(event) : room.timeout(1).emit(event, ...values, () => {});
    };
    await asOnStock({ target: { emit }, receivers: clientsOf(pairs) });
  });

  test('of a worker that has no others', async () => {
    const alone = await Machine.start();
    const node = await startMember(await alone.openBackplane());
    atEnd(
      () => node.close(),
      () => alone.remove(),
    );
    const { client } = await pairOn(node);
    await asOnStock({ target: node.io, receivers: [client] });
  });

  test('what cannot be encoded leaves no request behind', () => {
    const requests = (nodes[0]!.io.of('/').adapter as unknown as { asked: Map<string, unknown> }).asked;
    const before = requests.size;
    expect(thrownBy(() => nodes[0]!.io.timeout(1).emit('value', 1n, () => {}))).toEqual({ thrown: 'TypeError' });
    expect(requests.size).toBe(before);
    expect(thrownBy(() => nodes[0]!.io.serverSideEmit('value', 1n, () => {}))).toEqual({ thrown: 'TypeError' });
  });
});
