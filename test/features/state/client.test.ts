import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import type { Socket } from 'socket.io';
import { Adapter } from 'socket.io-adapter';
import { type Socket as Client, io as connect } from 'socket.io-client';
import { StateMap } from '../../../public/gjallar-client.js';
import { createStateRoom, type StateMeta, type StateRoom } from '../../../src/features/state/index.js';
import { startNode, type TestNode } from '../../io/rooms/support/node.js';
import { atEnd } from '../../support/ends.js';

let node: TestNode;
let room: StateRoom;
let client: Client;
let map: StateMap<unknown>;
/** The metas that have come, and what is asked of the server. */
let metas: StateMeta[];
let asked: unknown[];
let waiting: (() => void)[];

beforeEach(async () => {
  node = await startNode((nsp) => new Adapter(nsp));
  room = createStateRoom(node.io, 'quotes', { event: 'quote' });
  metas = [];
  asked = [];
  waiting = [];
  node.io.on('connection', (socket: Socket) => {
    socket.on('watch', (options, ack) => {
      asked.push(options);
      ack(room.join(socket, options));
    });
  });
  client = connect(node.url, {
    forceNew: true,
    transports: ['websocket'],
    reconnectionDelay: 10,
    reconnectionDelayMax: 20,
  });
  client.on('quote', (_changes, meta: StateMeta) => metas.push(meta));
  const onChange = () => {
    for (const check of waiting.splice(0)) check();
  };
  map = new StateMap(client, 'quote', { watch: 'watch', maxRate: 500 });
  map.on('change', onChange);
});

afterEach(async () => {
  map.close();
  client.disconnect();
  room.close();
  await node.close();
});

function shows(expected: Record<string, unknown>): Promise<void> {
  const text = JSON.stringify(Object.entries(expected));
  return new Promise((resolve) => {
    const check = () => {
      if (map.isComplete && JSON.stringify([...map].sort()) === text) resolve();
      else waiting.push(check);
    };
    check();
  });
}

test('a map that is closed follows the room no more, and keeps its values', async () => {
  room.set('a', 1);
  await shows({ a: 1 });
  map.close();
  const next = new Promise((resolve) => client.once('quote', resolve));
  room.set('a', 2);
  await next;
  expect([...map]).toEqual([['a', 1]]);
});

test('a snapshot replaces what the client had', async () => {
  room.set('a', 1);
  await shows({ a: 1 });
  const gone = new Promise((resolve) => client.once('disconnect', resolve));
  client.disconnect();
  await gone;
  // Another life of the room.
  room.close();
  room = createStateRoom(node.io, 'quotes', { event: 'quote' });
  room.set('b', 2);
  client.connect();
  await shows({ b: 2 });
  expect(metas.filter(({ snapshot }) => snapshot)).toHaveLength(2);
});

test('a map that is closed while its request is in progress asks no more', () => {
  const replies: ((error: unknown, reply: unknown) => void)[] = [];
  const errors: unknown[] = [];
  const socket = {
    ...{ id: 'a', connected: true, on() {}, off() {}, emit() {} },
    timeout: () => ({ emit: (_event: string, _options: unknown, reply: never) => replies.push(reply) }),
  };
  const closed = new StateMap(socket, 'quote', { watch: 'watch' });
  closed.on('error', (error) => errors.push(error));
  closed.close();
  const timers = jest.spyOn(globalThis, 'setTimeout');
  atEnd(() => timers.mockRestore());
  replies[0]!(null, { ok: false, code: 'STATE_BUSY' });
  replies[0]!(new Error('no reply'), undefined);
  replies[0]!(null, { ok: false, code: 'STATE_FORBIDDEN' });
  expect(timers).not.toHaveBeenCalled();
  expect(errors).toEqual([]);
});
