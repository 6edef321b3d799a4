import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { StateRoom } from '../../../src/features/state/index.js';
import type { SequencerClient } from '../../../src/features/state/replica/client.js';
import { encodeVersion, parseVersion } from '../../../src/features/state/version.js';
import { disconnectAll, pairOn } from '../../io/rooms/support/clients.js';
import { Machine, startMember, type TestNode } from '../../io/rooms/support/node.js';
import { until } from '../../support/until.js';
import { roomOn } from './support/room-on.js';
import { View } from './support/view.js';

interface Worker {
  node: TestNode;
  room: StateRoom;
}

let machine: Machine;
let workers: Worker[];
const thrown: unknown[] = [];
const note = (error: unknown) => thrown.push(error);

beforeEach(async () => {
  machine = await Machine.start();
  await machine.startHub('machine0');
  workers = [];
  process.on('uncaughtException', note).on('unhandledRejection', note);
  for (let count = 0; count < 2; count++) {
    const node = await startMember(await machine.openBackplane());
    const room = roomOn(node, 'quotes', { event: 'quote' });
    workers.push({ node, room });
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

type Ask = (question: { type: string }, ms?: number) => Promise<unknown>;

/** Versions that no server has given. */
function versions(known: string): unknown[] {
  const { epoch, number, timeMs } = parseVersion(known)!;
  const z = 'z'.repeat(11);
  return [
    ...[-1, 0, 1e300, true, null, {}, [], [known], { toString: 'x' }, { epoch, number }, Buffer.from(known)],
    ...['', '.', '...', '-1.-1', `${epoch}.-1.1`, `${epoch}.${z}.1`, `${epoch}.1.${z}`, `${epoch}.0.0`, epoch],
    ...['__proto__.0.0', `${known}.x`, `${known}\n`, known.repeat(10_000), 'x'.repeat(100_000)],
    encodeVersion({ epoch: 'another', number, timeMs }),
    encodeVersion({ epoch, number: number + 1_000_000, timeMs }),
    encodeVersion({ epoch: 'another', number, timeMs: timeMs + 3_600_000 }),
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

test('a client that joins and leaves in a loop is one member, and has the hub asked a few times only', async () => {
  const [one, two] = workers as [Worker, Worker];
  one.room.set('a', 1);
  await until(() => two.room.get('a') === 1);
  const other = await memberOf(two);
  await other.client.emitWithAck('watch', {});
  await other.view.shows(({ a }) => a === 1);
  const { epoch, number, timeMs } = parseVersion(other.view.version)!;
  // Another worker could have written it, so this one has to ask the hub.
  const version = encodeVersion({ epoch, number: number + 1000, timeMs });
  const { client: sequencer } = (two.room as unknown as { replica: { client: SequencerClient } }).replica;
  const link = sequencer as unknown as { questions: { open: ReadonlyMap<number, unknown> }; ask: Ask };
  const { open: asked } = link.questions;
  let pings = 0;
  const ask = link.ask.bind(link);
  link.ask = (question, ms) => {
    if (question.type === 'ping') pings++;
    return ask(question, ms);
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
  one.room.set('a', 2);
  await other.view.shows(({ a }) => a === 2);
  await view.shows(({ a }) => a === 2);
  expect(pings).toBeLessThan(100);
  await until(() => asked.size === 0);
  client.disconnect();
  await until(() => two.room.stats().members === 1);
});
