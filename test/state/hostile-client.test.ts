import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { type StateRoom, stateRoom } from '../../src/state/index.js';
import type { Hub } from '../../src/state/replication/hub.js';
import { encodeVersion, parseVersion, UNITS_PER_MS } from '../../src/state/version.js';
import { disconnectAll, pairOn } from '../rooms/support/clients.js';
import { Machine, startMember, type TestNode } from '../rooms/support/node.js';
import { until } from '../support/until.js';
import { View } from './support/view.js';

interface Worker {
  node: TestNode;
  room: StateRoom;
  hub: Hub;
}

let machine: Machine;
let workers: Worker[];
const thrown: unknown[] = [];
const note = (error: unknown) => thrown.push(error);

beforeEach(async () => {
  machine = await Machine.start();
  workers = [];
  process.on('uncaughtException', note).on('unhandledRejection', note);
  for (let count = 0; count < 2; count++) {
    const node = await startMember(await machine.openBackplane());
    const room = stateRoom(node.io, 'quotes', { event: 'quote' });
    workers.push({ node, room, hub: (room as unknown as { hub: Hub }).hub });
    // As the guide has it: whatever the client sends.
    node.io.on('connection', (socket) => {
      socket.on('watch', (options, ack) => ack(room.join(socket, options)));
      socket.on('unwatch', () => room.leave(socket));
    });
    await room.ready();
  }
});
afterEach(async () => {
  process.off('uncaughtException', note).off('unhandledRejection', note);
  disconnectAll();
  for (const { node } of workers) await node.close();
  await machine.remove();
  expect(thrown.splice(0)).toEqual([]);
});

async function memberOf(worker: Worker) {
  const { client } = await pairOn(worker.node);
  return { client, view: new View(client, 'quote') };
}

/** Versions that no server has given. */
function versions(known: string): unknown[] {
  const { epoch, complete, latest, writer } = parseVersion(known)!;
  const z = 'z'.repeat(11);
  return [
    ...[-1, 0, 1e300, true, null, {}, [], [known], { toString: 'x' }, { epoch, complete, latest }, Buffer.from(known)],
    ...['', '.', '...', '-1.-1.-1', `${epoch}.-1.-1`, `${epoch}.${z}.${z}`, `${epoch}.0.${z}`, `${epoch}.${z}.0`],
    ...[`__proto__.0.0`, `${known}.x`, `${known}\n`, known.repeat(10_000), 'x'.repeat(100_000)],
    encodeVersion({ epoch: 'another', complete, latest }),
    encodeVersion({ epoch, complete, latest, writer: { node: 'nobody', own: latest } }),
    encodeVersion({ epoch, complete, latest: latest + 3_600_000 * UNITS_PER_MS, ...(writer && { writer }) }),
  ];
}

test('a client that names versions which no server has given gets what is there, and changes', async () => {
  const [one, two] = workers as [Worker, Worker];
  one.room.set('a', 1);
  await until(() => two.room.get('a') === 1);
  const { client, view } = await memberOf(two);
  await client.emitWithAck('watch', {});
  await view.shows(({ a }) => a === 1);
  let turn = 1;
  for (const version of versions(view.version)) {
    const again = await memberOf(two);
    expect(await again.client.emitWithAck('watch', { version })).toMatchObject({ ok: true, keys: 1 });
    // One that claims to have everything gets what changes.
    one.room.set('a', ++turn);
    await again.view.shows(({ a }) => a === turn);
    again.client.disconnect();
  }
  await view.shows(({ a }) => a === turn);
  await until(() => two.room.stats().members === 1);
});

test('a client that joins and leaves in a loop is one member, and has the other workers asked a few times only', async () => {
  const [one, two] = workers as [Worker, Worker];
  one.room.set('a', 1);
  await until(() => two.room.get('a') === 1);
  const other = await memberOf(two);
  await other.client.emitWithAck('watch', {});
  await other.view.shows(({ a }) => a === 1);
  const { latest, ...rest } = parseVersion(other.view.version)!;
  // A worker whose clock is ahead could have written it, so this one has to wait for it.
  const version = encodeVersion({ ...rest, latest: latest + 4000 * UNITS_PER_MS });
  let pings = 0;
  const { channel } = two.hub;
  const ask = channel.ask.bind(channel);
  channel.ask = (question, ...args) => {
    if (question.type === 'ping') pings++;
    return ask(question, ...args);
  };
  const { client, view } = await memberOf(two);
  for (let round = 0; round < 20; round++) {
    for (let at = 0; at < 200; at++) {
      client.emit('watch', { version, maxRate: at % 2 ? 1 : undefined }, () => {});
      if (at % 3 === 0) client.emit('unwatch');
    }
    expect(await client.emitWithAck('watch', { version })).toMatchObject({ ok: true });
    expect(two.room.stats().members).toBe(2);
  }
  const { list } = (two.hub as unknown as { waiters: { list: unknown[] } }).waiters;
  expect(list.length).toBeLessThanOrEqual(4020);
  one.room.set('a', 2);
  await other.view.shows(({ a }) => a === 2);
  await view.shows(({ a }) => a === 2);
  expect(pings).toBeLessThan(100);
  await until(() => (two.hub as unknown as { waiters: { list: unknown[] } }).waiters.list.length === 0);
  client.disconnect();
  await until(() => two.room.stats().members === 1);
});
