import { beforeEach, describe, expect, test } from '@jest/globals';
import { machineTime } from '../../../../src/base/clock.js';
import { Removals } from '../../../../src/features/recovery/keeper/memory.js';
import type { startMember } from '../../../io/rooms/support/node.js';
import { temporaryFolder } from '../../../support/folder.js';
import { until } from '../../../support/until.js';
import { joinMesh, ofTest } from '../support/recovering.js';

type Worker = Awaited<ReturnType<typeof startMember>>;

let directory: string;
const { nodes, enter: clientOf, start: startWorker } = ofTest();
let middleware = () => Promise.resolve();

beforeEach(() => {
  directory = temporaryFolder();
  middleware = () => Promise.resolve();
});

async function start(id: number): Promise<Worker> {
  const others = Array.from({ length: id - 1 }, (_, at) => at + 1);
  const bus = await joinMesh(directory, id, others);
  const node = await startWorker(bus, { skipMiddlewares: false });
  node.io.use((_socket, next) => void middleware().then(() => next(), next));
  node.io.on('connection', (socket) => {
    if (!socket.recovered) void socket.join('room');
    if (!socket.recovered) socket.emit('n', 'hello', 0);
  });
  return node;
}

/** Each worker has told the others everything. */
async function untilTold(): Promise<void> {
  const witnesses = await Promise.all(nodes.map((node) => clientOf(node)));
  for (const { io } of nodes) io.emit('n', 'fence', 0);
  for (const witness of witnesses) await until(() => witness.of('fence').length === nodes.length);
  for (const witness of witnesses) witness.close();
}

test('the copy of a connected session is ended, too, in case its worker dies', async () => {
  const [first, second] = [await start(1), await start(2)];
  const client = await clientOf(first);
  await untilTold();
  expect(await second.bus.removeSessions!({ id: client.socket.id! })).toEqual([]);
  first.bus.close();
  await client.cutOff();
  await client.comeBack(second.url);
  expect(client.recovered).toEqual([false]);
});

test('the copy of a connected session is taken out of a closed room', async () => {
  const [first, second] = [await start(1), await start(2)];
  const client = await clientOf(first);
  await untilTold();
  const { id } = client.socket;
  expect(await second.bus.removeSessions!({ room: 'room', namespace: '/elsewhere' })).toEqual([]);
  expect(await second.bus.removeSessions!({ room: 'room', namespace: '/' })).toEqual([]);
  first.bus.close();
  await client.cutOff();
  await client.comeBack(second.url);
  expect(client.recovered).toEqual([true]);
  expect([...second.io.of('/').sockets.get(id!)!.rooms]).toEqual([id]);
});

test('a session that the operator ends while it is recovered is replaced by a new one', async () => {
  const [first, second] = [await start(1), await start(2)];
  const client = await clientOf(first);
  const { id } = client.socket;
  await client.cutOff();
  await until(() => first.io.of('/').sockets.size === 0);
  let ended: string[][] = [];
  middleware = async () => {
    middleware = () => Promise.resolve();
    ended = await Promise.all(nodes.map(({ bus }) => bus.removeSessions!({ id: id! })));
  };
  (client.socket.io as unknown as { uri: string }).uri = second.url;
  const gone = new Promise((resolve) => client.socket.io.once('close', () => resolve(undefined)));
  client.socket.connect();
  await gone;
  expect(new Set(ended.flat())).toEqual(new Set([id]));
  await client.comeBack(second.url);
  expect(client.recovered).toEqual([false]);
  expect(client.socket.id).not.toBe(id);
  const outcomes = nodes.map(({ bus }) => bus.recovery!.outcomes.recovered);
  expect(outcomes).toEqual([0, 0]);
});

describe('removals', () => {
  const session = { sid: 's', rooms: ['hall'], user: 'ada', address: '::ffff:192.0.2.1', connection: 'c' };

  test.each([
    ['a user', { user: 'ada' }, { user: 'hall' }],
    ['a socket', { id: 's' }, { id: 'ada' }],
    ['a connection', { id: 'c' }, { id: 'hall' }],
    ['an address', { address: '192.0.2.1' }, { address: '192.0.2.2' }],
    ['a room', { room: 'hall', namespace: '/' }, { room: 'ada', namespace: '/' }],
  ])('name %s', (_name, target, other) => {
    const removals = new Removals();
    expect(removals.add(other)(session)).toBe(false);
    const now = machineTime();
    expect(removals.covers({ ...session, disconnectedAt: now })).toBe(false);
    expect(removals.add(target)(session)).toBe(true);
    const covered = (ended: number) => removals.covers({ ...session, disconnectedAt: ended });
    expect([now - 60_000, now, now + 60_000].map(covered)).toEqual([true, true, false]);
    removals.sweep(machineTime() + 1);
    expect(covered(now)).toBe(false);
  });
});
