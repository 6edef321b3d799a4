import { setTimeout as sleep } from 'node:timers/promises';
import { HOST } from '../../harness/row/peer.js';
import { latencyColumns, usageColumns } from '../columns.js';
import { cpuPer, measured, resultOf } from '../measured.js';
import { CHAT, REST } from './room.js';
import { saturate } from './saturation.js';

const TEXT = 44;
/** Presence after the joins, in ms. */
const SETTLING = 3000;

/**
 * Many rooms whose members publish: each message goes to all members of its room, the sender too. A server's cost is
 * stated per message, because what a message costs beside its deliveries is what rooms of this size show.
 * @typedef {{ clients: number, members: number, perSecond?: number, warmUp?: number, dialect?: object }} RoomsCell `dialect` is
 *   how a client publishes, by default as in the chat; without `perSecond`,
 *   a server is offered a little more than it takes
 */
export function runRooms(row) {
  const { peer, fleet, cell, quick } = row;
  const { members, perSecond } = cell;
  if (perSecond) return paced(row);
  return openRooms(row).then(({ clients, publish }) =>
    saturate({
      ...{ peer, fleet, quick, publish },
      size: members,
      received: () => clients.count('received'),
      resultOf: (window, rate) => resultOf(window, row, roomsFigures(window, { members, perSecond: rate })),
    }),
  );
}

const paced = measured({
  warmUp: [12, 6],
  window: [10, 4],
  async begin(row) {
    const { publish } = await openRooms(row);
    await publish(row.cell.perSecond);
    return sentFrames(row.peer);
  },
  async figures(window, { peer, cell }, before) {
    const after = await sentFrames(peer);
    const frames = before && ((after.count - before.count) * 1000) / (after.at - before.at);
    return { ...roomsFigures(window, cell), frames };
  },
});

async function openRooms({ fleet, cell: { clients: count, members, dialect = CHAT } }) {
  const clients = await fleet.group(count);
  await clients.open();
  await clients.joinRooms(members);
  await sleep(SETTLING);
  const publish = (rate) =>
    clients.begin('converse', { ...dialect, members, perSecond: rate, size: TEXT, rest: REST, every: 7 });
  return { clients, publish };
}

/** How many frames the nodes have sent each other so far; undefined of a server that gathers nothing in frames. */
async function sentFrames({ name, ports }) {
  if (name !== 'gjallar-nodes') return undefined;
  const pages = await Promise.all(ports.map(async (port) => (await fetch(`http://${HOST}:${port}/metrics`)).text()));
  const counts = pages.flatMap((page) => [...page.matchAll(/^gjallar_bus_frames_total\{.*\} (\d+)$/gm)]);
  if (counts.length === 0) return undefined;
  return { count: counts.reduce((sum, [, count]) => sum + Number(count), 0), at: Date.now() };
}

function roomsFigures(window, { perSecond, members }) {
  const [seen] = window.groups;
  const deliveries = seen.perSecond.received;
  const messages = deliveries / members;
  const broker = window.helpers.redis ?? window.helpers.nats;
  return {
    cpuPerMessage: cpuPer(window, messages),
    brokerPerMessage: broker === undefined ? undefined : (broker * 1e6) / messages,
    messages,
    deliveries,
    published: seen.perSecond.sent,
    offered: perSecond,
    ...{ due: perSecond * members, achieved: deliveries },
  };
}

export const roomsColumns = [
  { key: 'cpuPerMessage', title: 'CPU µs/message', digits: 1, ratio: true },
  { key: 'brokerPerMessage', title: 'broker µs/message', digits: 1 },
  { key: 'frames', title: 'frames/s', digits: 0 },
  { key: 'messages', title: 'messages/s', digits: 0, ratio: true },
  ...latencyColumns,
  ...usageColumns,
];
