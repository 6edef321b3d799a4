import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type Namespace, Server, type Socket } from 'socket.io';
import { Adapter } from 'socket.io-adapter';
import { type Socket as Client, io as connect } from 'socket.io-client';
import type { HubLinkListener } from '../../../../src/base/hub-service.js';
import { joinTexts } from '../../../../src/base/names.js';
import { openRecovery, type Recovery } from '../../../../src/features/recovery/index.js';
import { Keeper } from '../../../../src/features/recovery/keeper/keeper.js';
import {
  codec,
  type Found,
  type ToKeeper,
  type ToWorker,
  textPacker,
} from '../../../../src/features/recovery/messages.js';
import { encodeOffset } from '../../../../src/features/recovery/offset.js';
import { VersionVector } from '../../../../src/features/recovery/version-vector.js';
import { pidOf } from '../../../../src/io/socket-io.private.js';
import { nextEvent } from '../../../support/clients.js';
import { until } from '../../../support/until.js';

/** What a worker tells its keeper of a session that changes again and again. */

const toWorkers = codec<ToWorker, ToKeeper>();
const [WORKER, OTHER] = [1, 2];
const namespace = joinTexts('0', '/');
const many = Array.from({ length: 1000 }, (_, at) => `${at}`.padEnd(100, 'x'));

let recovery: Recovery;
let io: Server;
let hub: HubLinkListener;
let keeper: Keeper;
let client: Client;
let socket: Socket;
let posted: ToKeeper[];
let bytes: number;
let answers: ToWorker[];

const newKeeper = () =>
  new Keeper({
    isAlone: true,
    sendToWorker: (worker, message) =>
      worker === OTHER ? answers.push(message) : hub.onMessage(toWorkers.encode([message])[0] as Buffer),
    sendToHub: () => {},
  });

async function begin(connectionStateRecovery: object = {}, bounds: { maxBytes?: number } = {}): Promise<void> {
  posted = [];
  bytes = 0;
  answers = [];
  keeper = newKeeper();
  recovery = openRecovery({
    ...bounds,
    link: {
      send: (sent) => {
        bytes += sent.length;
        for (const message of toWorkers.decode(sent as Buffer)) {
          posted.push(message);
          keeper.onMessage(WORKER, message);
        }
        return true;
      },
      listen: (listener) => {
        hub = listener;
        hub.onHere();
      },
    },
  });
  const factory = recovery.wrap((nsp) => new Adapter(nsp));
  // Not an arrow function: socket.io calls it as a constructor.
  const adapter = function adapterOf(nsp: Namespace) {
    return factory(nsp);
  };
  io = new Server(0, { connectionStateRecovery, adapter: adapter as never });
  const { port } = (io as unknown as { httpServer: { address(): { port: number } } }).httpServer.address();
  client = connect(`http://127.0.0.1:${port}`, { transports: ['websocket'], forceNew: true });
  [socket] = (await nextEvent(io, 'connection')) as [Socket];
  await until(() => posted.some(({ type }) => type === 'live'));
}

async function end(): Promise<void> {
  client.disconnect();
  await io.close();
  keeper.close();
  recovery.close();
}

beforeEach(() => begin());
afterEach(end);

/** Resolves once the keeper was told of the last change. */
async function told(type: ToKeeper['type'] = 'changed'): Promise<void> {
  const { length } = posted;
  await until(() => posted.slice(length).some((message) => message.type === type));
}

/** What a client of the worker, which is killed now, finds on another one. */
async function foundElsewhere(): Promise<Found> {
  const open = posted.find((message) => message.type === 'open') as Extract<ToKeeper, { type: 'open' }>;
  keeper.onMessage(OTHER, { ...open, name: 'other' });
  keeper.onWorkerGone(WORKER);
  const offset = encodeOffset(Date.now(), open.name, 0, new VersionVector());
  const question = { pid: pidOf(socket), offset, received: '', receivesSince: 0 };
  keeper.onMessage(OTHER, { type: 'find', namespace, request: 1, ms: 5000, ...question });
  const isFound = (message: ToWorker) => message.type === 'found';
  await until(() => answers.some(isFound));
  return (answers.find(isFound) as Extract<ToWorker, { type: 'found' }>).found;
}

test('a change costs what it changes, however many rooms and however much data the session has', async () => {
  socket.data = { text: 'y'.repeat(2000) };
  socket.join(many);
  await told();
  bytes = 0;
  for (let round = 0; round < 10; round++) {
    socket.join(`a${round}`);
    await told();
    socket.leave(`a${round}`);
    await told();
  }
  expect(bytes).toBeLessThan(20 * 500);
});

test('a keeper knows the rooms and the data of a session whose worker is killed', async () => {
  socket.join(['left', 'stays', 'again']);
  await told();
  socket.data = { name: 'ada' };
  socket.leave('left');
  socket.leave('again');
  socket.join(['again', 'late']);
  await told();
  const found = (await foundElsewhere()) as Extract<Found, { session: unknown }>;
  expect([...found.session.rooms].sort()).toEqual([socket.id, 'again', 'late', 'stays'].sort());
  expect(textPacker.unpack(found.session.data)).toEqual({ name: 'ada' });
});

test('a session that changes by more than its share waits, and is not recovered if its worker is killed meanwhile', async () => {
  socket.join(many);
  await told();
  socket.join('late');
  await told('stale');
  expect(await foundElsewhere()).toEqual({ outcome: 'session unknown' });
});

test('a session that waits is told when its share is paid, and at once when its client leaves', async () => {
  socket.join(many);
  await told();
  socket.join('late');
  await told('stale');
  await told();
  socket.join('later');
  client.io.engine.close();
  await told('away');
  const found = (await foundElsewhere()) as Extract<Found, { session: unknown }>;
  expect(found.session.rooms).toHaveLength(many.length + 3);
});

test('the names of too many rooms are not sent, and those that are left again are', async () => {
  const more = Array.from({ length: 3000 }, (_, at) => `more ${at}`);
  bytes = 0;
  socket.join(more);
  await told('live');
  expect(bytes).toBeLessThan(2000);
  for (const room of more) socket.leave(room);
  socket.join('one');
  await told('live');
  const found = (await foundElsewhere()) as Extract<Found, { session: unknown }>;
  expect([...found.session.rooms].sort()).toEqual([socket.id, 'one'].sort());
});

describe('without copies for killed workers', () => {
  const start = async (bounds = {}) => {
    await end();
    await begin({ killedWorkers: false }, bounds);
  };
  const emit = (count: number) => {
    for (let number = 1; number <= count; number++) socket.emit('n', number);
  };
  const directs = () => posted.filter(({ type }) => type === 'direct').length;
  const leave = async () => {
    client.io.engine.close();
    await told('away');
  };
  const missed = async () => (await foundElsewhere()) as Extract<Found, { missed: unknown }>;

  test('the keeper gets what a socket was sent alone when its client leaves', async () => {
    await start();
    emit(3);
    await told('stale');
    socket.join('room');
    await told();
    expect(directs()).toBe(0);
    await leave();
    const { session, missed: packets } = await missed();
    expect([...session.rooms].sort()).toEqual([socket.id, 'room'].sort());
    expect(packets.map(([, number, , [text]]) => [number, text])).toEqual(
      [1, 2, 3].map((number) => [number, `2["n",${number}]`]),
    );
  });

  test('a session is lost with its worker if it was sent something alone, also after a change', async () => {
    await start();
    emit(1);
    await told('stale');
    socket.join('room');
    await told();
    expect(await foundElsewhere()).toEqual({ outcome: 'session unknown' });
  });

  test('a session that was sent nothing alone outlives its worker', async () => {
    await start();
    expect((await missed()).session.sid).toBe(socket.id);
  });

  test('a client gets a new session if a bound has dropped what it lacks', async () => {
    await start({ maxBytes: 5000 });
    socket.emit('n', 'x'.repeat(4000));
    emit(2);
    await leave();
    expect(await foundElsewhere()).toEqual({ outcome: 'packets missing' });
  });

  test('a new hub misses nothing', async () => {
    await start();
    emit(3);
    await told('stale');
    hub.onGone();
    keeper.close();
    keeper = newKeeper();
    const isTold = told('stale');
    hub.onHere();
    await isTold;
    await leave();
    expect((await missed()).missed).toHaveLength(3);
  });
});
