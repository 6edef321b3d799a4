import { setTimeout as sleep } from 'node:timers/promises';
import { recordMemory } from '../harness/row/memory.js';
import { usageColumns } from './columns.js';
import { cpuPer, measured } from './measured.js';
import { openRoom } from './rooms/room.js';
import { shown } from './shown.js';

const CLIENTS = 1000;
const SLOW = 100;
/** How long a slow client sleeps after each read, in ms. */
const PAUSE = 200;
/** How much it reads at once, in bytes: 40 KB a second. */
const READ = 8192;
/** Together with `42["message",""]` and the frame's header this makes 145 bytes on the wire. */
const TEXT = 125;
const PER_SECOND = 1500;
/** How many bytes may wait for one client, where the peer has a limit. */
const maxBackpressure = 2 ** 20;
/** How many messages the held reader is sent, how fast, and how long: together more than the kernel's buffers take. */
const HELD = 25_000;
const HELD_PER_SECOND = 5000;
const HELD_TEXT = 1000;

/** Fast readers and slow ones in one room. The figures are those of the fast; what the slow did stands beside them. */
const runReaders = measured({
  warmUp: [5, 2],
  window: [70, 6],
  async begin({ peer, fleet, cell }) {
    const slow = cell.slow > 0 ? await fleet.group(cell.slow) : undefined;
    await slow?.open(cell.slow, { readSize: READ });
    await slow?.join('room');
    await slow?.begin('slow', { pause: PAUSE });
    const subscribers = CLIENTS - cell.slow;
    const room = await openRoom(fleet, { subscribers, publishers: 1, perSecond: PER_SECOND, rest: 0.5 });
    const received = async () => ({ received: await room.listening.count('received') });
    const stopRecording = recordMemory(peer, 1000, received);
    await room.publish(PER_SECOND, TEXT);
    return { slow, stopRecording };
  },
  async figures(window, { cell }, { slow, stopRecording }) {
    const series = stopRecording();
    const counted = window.groups.slice(slow ? 1 : 0);
    const [received, sent] = counted;
    const [slowly] = slow ? window.groups : [];
    const deliveries = received.perSecond.received;
    return {
      deliveries,
      messages: received.total.received,
      published: sent.perSecond.sent,
      cpuPerDelivery: cpuPer(window, deliveries + (slowly?.perSecond.received ?? 0)),
      slowDeliveries: slowly?.perSecond.received,
      slowClosed: slowly && (await slow.count('ended')),
      highestRss: Math.max(...series.map(({ rss }) => rss)),
      series,
      ...{ due: PER_SECOND * (CLIENTS - cell.slow), achieved: deliveries, counted },
    };
  },
});

/** A paused reader is sent 25,000 messages; then it reads, and should have them all, in order. */
async function runHeld({ peer, fleet }) {
  const reader = await fleet.group(1);
  const publisher = await fleet.group(1);
  await reader.open();
  await reader.join('room');
  await publisher.open();
  await reader.begin('slow', {});
  const stopRecording = recordMemory(peer, 100);
  await publisher.begin('publish', {
    event: 'publish',
    room: 'room',
    perSecond: HELD_PER_SECOND,
    size: HELD_TEXT,
    atMost: HELD,
  });
  await until(async () => (await publisher.count('sent')) >= HELD);
  // The server has the last of them a moment later.
  await sleep(1000);
  const series = stopRecording();
  const early = await reader.count('received');
  await reader.begin('released', {});
  let before = -1;
  await until(async () => {
    const received = await reader.count('received');
    const isDone = received === before || received >= HELD;
    before = received;
    return isDone;
  });
  const errors = await reader.count('errors');
  return {
    messages: await reader.count('received'),
    early,
    highestRss: Math.max(...series.map(({ rss }) => rss)),
    rss: peer.rss() / 2 ** 20,
    series,
    errors: errors + (HELD - before),
    ended: await reader.count('ended'),
  };
}

async function until(isDone) {
  do await sleep(500);
  while (!(await isDone()));
}

const readers = (slow) => ({
  label: `${shown(CLIENTS - slow)} fast clients${slow ? ` and ${slow} that sleep ${PAUSE} ms after each read of ${READ / 1024} KiB` : ''}, ${shown(PER_SECOND)} messages/s for each`,
  slow,
});

/** Workload 5: a server whose clients read too slowly. */
export default {
  about: `messages of 145 bytes to ${shown(CLIENTS)} fast and slow clients; peers with a limit buffer up to ${maxBackpressure / 2 ** 20} MiB per client`,
  peers: {
    'socketio-ws': {},
    uws: { maxBackpressure },
    'gjallar-close': { program: 'gjallar', maxBackpressure },
  },
  cells: () => [
    readers(0),
    readers(SLOW),
    readers(CLIENTS / 2),
    // The 25 MB have room there: nothing may be dropped here.
    {
      label: `a paused reader that later takes ${shown(HELD)} messages of ${shown(HELD_TEXT)} bytes`,
      held: true,
      peer: { maxBackpressure: 2 ** 26 },
    },
  ],
  columns: [
    { key: 'deliveries', title: 'deliveries/s', digits: 0, ratio: true },
    { key: 'messages', title: 'messages', digits: 0 },
    { key: 'cpuPerDelivery', title: 'CPU µs/delivery', digits: 2, ratio: true },
    { key: 'average', title: 'average ms', digits: 1 },
    { key: 'slowDeliveries', title: 'to the slow/s', digits: 0 },
    { key: 'slowClosed', title: 'closed', digits: 0 },
    { key: 'rss', title: 'RSS MiB', digits: 0 },
    { key: 'highestRss', title: 'highest', digits: 0 },
    ...usageColumns,
  ],
  run: (row) => (row.cell.held ? runHeld(row) : runReaders(row)),
};
