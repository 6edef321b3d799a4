import { measure } from '../harness/measure.js';
import { keptUp } from '../harness/verdict.js';

const SUBSCRIBERS = 1000;
const PUBLISHERS = 10;
const ROOM = 'room';
/** Together with `42["message",""]` this makes packets of 60 bytes. */
const TEXT = 44;
/** Milliseconds; see `generator/rest.js`. From 400 messages/s on, the generator would be saturated without. */
const REST = 0.5;

/**
 * One room. Publishers, in a process of their own so that a busy subscriber cannot hold them up, send evenly spread
 * messages; every subscriber gets every one. Latency is from a publisher's write to a subscriber's read, both in the
 * generators. A server that cannot keep up builds a backlog, so its latency depends on how long the run was.
 */
async function run({ peer, fleet, cell, quick }) {
  const subscribers = await fleet.group(SUBSCRIBERS);
  const publishers = await fleet.group(PUBLISHERS);
  await subscribers.open();
  await subscribers.join(ROOM);
  await publishers.open();
  const offered = cell.perSecond * SUBSCRIBERS;
  await subscribers.begin('subscribe', { every: sampling(offered), rest: cell.rest });
  await publishers.begin('publish', { room: ROOM, perSecond: cell.perSecond, size: TEXT });
  const measured = await measure({ peer, fleet, warmUp: quick ? 2 : 4, window: quick ? 4 : 10 });

  const [received, sent] = measured.groups;
  const { latency } = received;
  const deliveries = received.perSecond.received;
  return {
    cpuPerDelivery: (measured.server * 1e6) / deliveries,
    deliveries,
    published: sent.perSecond.sent,
    average: latency.mean,
    p99: latency.percentile(0.99),
    samples: latency.count,
    server: measured.server * 100,
    generatorCpu: measured.generators.busiest * 100,
    rss: measured.rss / 2 ** 20,
    errors: received.total.errors,
    ended: received.total.ended + sent.total.ended,
    ...keptUp(offered, deliveries, measured.server),
    generators: measured.generators,
    others: measured.others,
  };
}

/** Times every delivery at low rates, and about 100,000 a second at high ones. */
function sampling(deliveries) {
  return [1, 7, 13, 41, 101].find((every) => deliveries / every <= 110_000);
}

const columns = [
  { key: 'cpuPerDelivery', title: 'CPU µs/delivery', digits: 2, ratio: true },
  { key: 'deliveries', title: 'deliveries/s', digits: 0 },
  { key: 'average', title: 'average ms', digits: 2, ratio: true },
  { key: 'p99', title: 'p99 ms', digits: 2 },
  { key: 'server', title: 'server %', digits: 0 },
  { key: 'generatorCpu', title: 'generator %', digits: 0 },
];

export default {
  about: `one room of ${SUBSCRIBERS.toLocaleString('en-US')} subscribers, ${PUBLISHERS} publishers, packets of 60 bytes`,
  cells: () =>
    [100, 400, 1000, 4000, 10_000].map((perSecond) => {
      const rest = perSecond > 100 ? REST : 0;
      const short = `${perSecond.toLocaleString('en-US')} messages/s`;
      return {
        label: rest > 0 ? `${short}, subscribers rest ${rest} ms between reads` : short,
        short,
        perSecond,
        rest,
      };
    }),
  columns,
  run,
};

/** The cost of a delivery, and its latency, against the longest window that gjallar may gather messages in. */
export const windows = {
  about: `one room of ${SUBSCRIBERS.toLocaleString('en-US')} subscribers, by FLUSH_MS; for --peers gjallar`,
  cells: () =>
    [100, 400, 1000].flatMap((perSecond) =>
      [0, 5, 10, 25, 50].map((flushMs) => ({
        label: `${perSecond.toLocaleString('en-US')} messages/s, FLUSH_MS=${flushMs}`,
        perSecond,
        rest: perSecond > 100 ? REST : 0,
        peer: { flushMs },
      })),
    ),
  columns,
  run,
};
