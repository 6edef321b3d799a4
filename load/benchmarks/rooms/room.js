import { setTimeout as sleep } from 'node:timers/promises';
import { usageColumns } from '../columns.js';
import { cpuPer, measured } from '../measured.js';

const ROOM = 'room';
/** Milliseconds; see `generator/rest.js`. From 200,000 deliveries/s on, the generator would be saturated without. */
export const REST = 0.5;
/** Together with `42["message",""]` this makes packets of 60 bytes. */
const TEXT = 44;

/** How a client of the little application of `peers/small/application.js` publishes, and what stands before a text it gets. */
export const APPLICATION = { event: 'publish', before: '42["message","' };
/** The same for the chat that gjallar's service is. A delivery carries room, sender and time too: about 130 bytes. */
export const CHAT = { event: 'message', before: '"text":"' };

/** How long after a join a chat may still send presence, in ms. */
const PRESENCE = 1000;

/**
 * One room. Publishers, in a process of their own so that a busy subscriber cannot hold them up, send evenly spread
 * messages; every subscriber gets every one. Latency is from a publisher's write to a subscriber's read, both in the
 * generators. A server that cannot keep up builds a backlog, so its latency depends on how long the run was.
 * @typedef {{
 *   subscribers: number,
 *   publishers: number,
 *   perSecond: number, messages of all publishers together
 *   rest?: number, see `generator/rest.js`
 *   warmUp?: number, in seconds
 *   dialect?: { event: string, before: string },
 * }} RoomCell
 */
export const runRoom = measured({
  warmUp: [10, 5],
  window: [10, 4],
  begin: async ({ fleet, cell }) => (await openRoom(fleet, cell)).publish(cell.perSecond),
  figures: (window, { cell }) => roomFigures(window, cell),
});

/** Connects all clients, and has the subscribers join. */
export async function openRoom(fleet, { subscribers, publishers, perSecond, rest = 0, dialect = APPLICATION }) {
  const { event, before } = dialect;
  const listening = await fleet.group(subscribers);
  const publishing = await fleet.group(publishers);
  await listening.open();
  await listening.join(ROOM);
  await publishing.open();
  if (dialect === CHAT) {
    await publishing.join(ROOM);
    await sleep(PRESENCE);
  }
  await listening.begin('subscribe', { every: sampling(perSecond * subscribers), before, rest });
  return {
    listening,
    publish: (rate, size = TEXT) => publishing.begin('publish', { event, room: ROOM, perSecond: rate, size }),
  };
}

/** Times every delivery at low rates, and about 100,000 a second at high ones. */
function sampling(deliveries) {
  return [1, 7, 13, 41, 101].find((every) => deliveries / every <= 110_000) ?? 211;
}

export function roomFigures(window, { perSecond, subscribers }) {
  const [received, sent] = window.groups;
  const deliveries = received.perSecond.received;
  return {
    cpuPerDelivery: cpuPer(window, deliveries),
    deliveries,
    published: sent.perSecond.sent,
    offered: perSecond,
    ...{ due: perSecond * subscribers, achieved: deliveries },
  };
}

export const roomColumns = [
  { key: 'cpuPerDelivery', title: 'CPU µs/delivery', digits: 2, ratio: true },
  { key: 'deliveries', title: 'deliveries/s', digits: 0 },
  { key: 'average', title: 'average ms', digits: 2, ratio: true },
  { key: 'p99', title: 'p99 ms', digits: 2 },
  ...usageColumns,
];
