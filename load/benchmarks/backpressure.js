import { setTimeout as sleep } from 'node:timers/promises';
import { recordMemory } from '../harness/row/memory.js';
import { columns, shown } from './columns.js';
import { cpuPer, measured } from './measured.js';
import { openRoom } from './room.js';

const CLIENTS = 1000;
const SLOW = 100;
/** How long a slow client sleeps after each read, in ms, and how many bytes it reads at once: 40 KB a second. */
export const PAUSE = 200;
export const READ = 8192;
/** Together with `42["message",""]` and the frame's header this makes 145 bytes on the wire. */
const TEXT = 125;
const PER_SECOND = 1500;
/** How many bytes may wait for one client, where the peer has a limit. */
const maxBackpressure = 2 ** 20;
/** How many messages the held reader is sent, how fast, and how long: together more than the kernel's buffers take. */
const HELD = 25_000;
const HELD_PER_SECOND = 5000;
const HELD_TEXT = 1000;

/** A group of clients that read slowly, in a room; undefined of none. */
export async function slowClients(fleet, count, role, room = 'room') {
  if (!count) return undefined;
  const slow = await fleet.group(count);
  await slow.open(count, { readSize: READ });
  await slow.join(room);
  await slow.begin(role, { pause: PAUSE });
  return slow;
}

/** Fast readers and slow ones in one room. The figures are those of the fast; what the slow did stands beside them. */
const runReaders = measured({
  warmUp: [5, 2],
  window: [70, 6],
  async begin({ peer, fleet, cell }) {
    const slow = await slowClients(fleet, cell.slow, 'slow');
    const subscribers = CLIENTS - cell.slow;
    const room = await openRoom(fleet, { subscribers, publishers: 1, perSecond: PER_SECOND, rest: 0.5 });
    const highestRss = recordMemory(peer, 1000);
    await room.publish(PER_SECOND, TEXT);
    return { slow, highestRss };
  },
  async figures(window, { cell }, { slow, highestRss }) {
    const counted = window.groups.slice(slow ? 1 : 0);
    const [received] = counted;
    const [slowly] = slow ? window.groups : [];
    const deliveries = received.perSecond.received;
    return {
      deliveries,
      messages: received.total.received,
      cpuPerDelivery: cpuPer(window, deliveries + (slowly?.perSecond.received ?? 0)),
      slowDeliveries: slowly?.perSecond.received,
      slowClosed: slowly && (await slow.count('ended')),
      highestRss: highestRss(),
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
  const highestRss = recordMemory(peer, 100);
  const rate = { perSecond: HELD_PER_SECOND, size: HELD_TEXT, atMost: HELD };
  await publisher.begin('publish', { event: 'publish', room: 'room', ...rate });
  await until(async () => (await publisher.count('sent')) >= HELD);
  // The server has the last of them a moment later.
  await sleep(1000);
  const highest = highestRss();
  await reader.begin('released', {});
  let before = -1;
  await until(async () => {
    const received = await reader.count('received');
    const isDone = received === before || received >= HELD;
    before = received;
    return isDone;
  });
  return {
    messages: await reader.count('received'),
    highestRss: highest,
    rss: peer.rss() / 2 ** 20,
    errors: (await reader.count('errors')) + (HELD - before),
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
const held = {
  label: `a paused reader that later takes ${shown(HELD)} messages of ${shown(HELD_TEXT)} bytes`,
  held: true,
  // The 25 MB have room there: nothing may be dropped here.
  peer: { maxBackpressure: 2 ** 26 },
};

/** Workload 5: a server whose clients read too slowly. */
export default {
  about: `messages of 145 bytes to ${shown(CLIENTS)} fast and slow clients; peers with a limit buffer up to ${maxBackpressure / 2 ** 20} MiB per client`,
  peers: {
    'socketio-ws': {},
    uws: { maxBackpressure },
    'gjallar-close': { like: 'gjallar', maxBackpressure },
  },
  cells: () => [readers(0), readers(SLOW), readers(CLIENTS / 2), held],
  columns: columns(
    '×deliveries messages ×cpuPerDelivery average slowDeliveries slowClosed rss highestRss server generatorCpu',
    { messages: 'messages' },
  ),
  run: (row) => (row.cell.held ? runHeld(row) : runReaders(row)),
};
