import { setTimeout as sleep } from 'node:timers/promises';
import { measure, usageOf } from '../../harness/row/measure.js';
import { HOST } from '../../harness/row/peer.js';
import { keptUp } from '../../harness/row/verdict.js';
import { latencyColumns, latencyOf, usageColumns } from '../columns.js';
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
export async function runRooms({ peer, fleet, cell, quick }) {
  const { members, perSecond, dialect = CHAT, warmUp = quick ? 6 : 12 } = cell;
  const clients = await fleet.group(cell.clients);
  await clients.open();
  await clients.joinRooms(members);
  await sleep(SETTLING);
  const publish = (rate) =>
    clients.begin('converse', { ...dialect, members, perSecond: rate, size: TEXT, rest: REST, every: 7 });
  const resultOf = (measured, rate) => roomsResult(measured, { members, perSecond: rate }, peer);
  if (!perSecond)
    return saturate({
      peer,
      fleet,
      quick,
      size: members,
      publish,
      received: () => clients.count('received'),
      resultOf,
    });
  await publish(perSecond);
  const before = await sentFrames(peer);
  const result = resultOf(await measure({ peer, fleet, warmUp, window: quick ? 4 : 10 }), perSecond);
  const after = await sentFrames(peer);
  return { ...result, frames: before && ((after.count - before.count) * 1000) / (after.at - before.at) };
}

/** How many frames the nodes have sent each other so far; undefined of a server that gathers nothing in frames. */
async function sentFrames({ name, ports }) {
  if (name !== 'gjallar-nodes') return undefined;
  const pages = await Promise.all(ports.map(async (port) => (await fetch(`http://${HOST}:${port}/metrics`)).text()));
  const counts = pages.flatMap((page) => [...page.matchAll(/^gjallar_bus_frames_total\{.*\} (\d+)$/gm)]);
  if (counts.length === 0) return undefined;
  return { count: counts.reduce((sum, [, count]) => sum + Number(count), 0), at: Date.now() };
}

function roomsResult(measured, { perSecond, members }, peer) {
  const [seen] = measured.groups;
  const deliveries = seen.perSecond.received;
  const messages = deliveries / members;
  const { helpers } = measured;
  const broker = helpers.redis ?? helpers.nats;
  return {
    cpuPerMessage: (measured.server * 1e6) / messages,
    brokerPerMessage: broker === undefined ? undefined : (broker * 1e6) / messages,
    messages,
    deliveries,
    offered: perSecond,
    published: seen.perSecond.sent,
    ...latencyOf(seen.latency),
    errors: seen.total.errors,
    ended: seen.total.ended,
    ...keptUp(perSecond * members, deliveries, busyOf(measured, peer)),
    ...usageOf(measured),
  };
}

/** Where the broker shares the server's cores, its time is theirs too. */
function busyOf({ server, helpers }, peer) {
  const broker = Object.values(helpers).reduce((sum, share) => sum + share, 0);
  return (server + broker) / (peer.cores?.length ?? 1);
}

export const roomsColumns = [
  { key: 'cpuPerMessage', title: 'CPU µs/message', digits: 1, ratio: true },
  { key: 'brokerPerMessage', title: 'broker µs/message', digits: 1 },
  { key: 'frames', title: 'frames/s', digits: 0 },
  { key: 'messages', title: 'messages/s', digits: 0, ratio: true },
  ...latencyColumns,
  ...usageColumns,
];
