import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { createDurableRooms, type DurableRooms } from '../../../src/features/history/index.js';
import { createStateRoom } from '../../../src/features/state/index.js';
import { alone } from '../../../src/io/server/default-adapter.js';
import { joinMesh } from '../../features/recovery/support/recovering.js';
import { View } from '../../features/state/support/view.js';
import { nextEvent } from '../../support/clients.js';
import { atEnd } from '../../support/ends.js';
import { temporaryFolder } from '../../support/folder.js';
import { until } from '../../support/until.js';
import { disconnectAll, pairOn } from './support/clients.js';
import { startMember, startNode, type TestNode } from './support/node.js';
import { startStock } from './support/stock.js';
import { comparable, expectedOf, forValues, type Outcome, outcomesOn, thrownBy } from './support/values.js';

let stock: Awaited<ReturnType<typeof startStock>>;
let directory: string;

beforeAll(async () => {
  stock = await startStock();
  directory = temporaryFolder();
});
afterEach(disconnectAll);
afterAll(async () => {
  await stock.close();
});

const server = { connectionStateRecovery: {} };

const workersOfMesh = async (): Promise<TestNode[]> => {
  const nodes = [
    await startMember(await joinMesh(directory, 1, []), { server }),
    await startMember(await joinMesh(directory, 2, [1]), { server }),
  ];
  for (const { io } of nodes) await until(async () => (await io.of('/').adapter.serverCount()) === 2);
  return nodes;
};

/** The client is at the last one, and the first one sends. */
describe.each<[string, () => Promise<TestNode[]>]>([
  ['of one server', async () => [await startNode(alone, { server })]],
  ['of two workers', workersOfMesh],
])('recovery %s', (_name, start) => {
  let nodes: TestNode[];
  let first: TestNode;
  let last: TestNode;

  beforeAll(async () => {
    nodes = await start();
    [first, last] = [nodes[0]!, nodes.at(-1)!];
  });
  afterAll(async () => {
    for (const node of nodes) await node.close();
  });

  test('replays to a client that returns what stock sends to one that is there', async () => {
    await forValues(stock, async (values, onStock) => {
      const { client, socket } = await pairOn(last);
      await socket.join('room');
      const hello = nextEvent(client, 'hello');
      first.io.emit('hello');
      await hello;
      client.io.engine.close();
      await until(() => last.io.of('/').sockets.size === 0);
      const arrive = async () => client.connect();
      const [outcomes] = await outcomesOn({ target: first.io.to('room'), receivers: [client], arrive }, values);
      expect(outcomes).toEqual(expectedOf(onStock));
      expect(client.recovered).toBe(true);
      client.disconnect();
      await until(() => last.io.of('/').sockets.size === 0);
    });
  });
});

describe('rooms that keep values', () => {
  let node: TestNode;
  let durable: DurableRooms;

  beforeAll(async () => {
    node = await startNode(alone);
    durable = await createDurableRooms(node.io, { rooms: 'order:*', dataDir: directory, maxMessageBytes: 1_000_000 });
  });
  afterAll(async () => {
    await durable.close();
    await node.close();
  });

  test('a durable room delivers what stock sends', async () => {
    const pairs = await Promise.all([1, 2, 3].map(() => pairOn(node)));
    for (const { socket } of pairs) await socket.join('order:1');
    await forValues(stock, async (values, onStock) => {
      const receivers = pairs.map(({ client }) => client);
      for (const outcomes of await outcomesOn({ target: node.io.to('order:1'), receivers }, values)) {
        expect(outcomes).toEqual(expectedOf(onStock));
      }
    });
  });

  test('a state room delivers what stock sends, unless there are bytes inside of JSON', async () => {
    const { client, socket } = await pairOn(node);
    const room = createStateRoom(node.io, 'values', { event: 'state' });
    const view = new View(client, 'state');
    room.join(socket);
    let runs = 0;
    atEnd(() => room.close());
    await forValues(stock, async (values, onStock) => {
      const expected = onStock.map((outcome, index) => inStateRoom(outcome, values[index]));
      const outcomes = values.map((value, index) => thrownBy(() => room.set(`${index}`, value)));
      const run = ++runs;
      room.set('end', run);
      await view.until(() => view.map.get('end') === run);
      const arrived = outcomes.map((thrown, index) => thrown ?? { arrived: comparable(view.map.get(`${index}`)) });
      expect(arrived).toEqual(expected);
      for (const key of room.keys()) room.delete(key);
    });
  });
});

/** What a state room makes of a value that stock has sent: it keeps JSON, or bytes. Where there is no value, stock sends null. */
function inStateRoom(onStock: Outcome, value: unknown): Outcome {
  const isKept =
    typeof onStock === 'object' &&
    'arrived' in onStock &&
    value !== undefined &&
    (ArrayBuffer.isView(value) || value instanceof ArrayBuffer || !hasBytes(onStock.arrived));
  return isKept ? onStock : { thrown: 'BAD_STATE_VALUE' };
}

function hasBytes(value: unknown): boolean {
  if (typeof value === 'string') return value.startsWith('bytes ');
  return typeof value === 'object' && value !== null && Object.values(value).some(hasBytes);
}
