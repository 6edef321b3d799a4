import { shown } from '../shown.js';
import { REST, roomColumns, runRoom } from './room.js';
import { runSaturated } from './saturation.js';
import { workload1Cells } from './workload-1.js';

const SUBSCRIBERS = 1000;
const PUBLISHERS = 10;

/** 1,000 subscribers at rising rates. */
const rates = [100, 400, 1000, 4000, 10_000].map((perSecond) => {
  const rest = perSecond > 100 ? REST : 0;
  const short = `${shown(perSecond)} messages/s`;
  return {
    label: rest > 0 ? `${short}, subscribers rest ${rest} ms between reads` : short,
    short,
    // A peer that is saturated at one rate is not offered the next.
    ladder: true,
    subscribers: SUBSCRIBERS,
    publishers: PUBLISHERS,
    perSecond,
    rest,
  };
});

export default {
  about: 'one room with packets of 60 bytes, 1,000 subscribers and 10 publishers unless a cell says otherwise',
  cells: (quick) => [
    ...(quick ? [rates[1], rates[3]] : rates),
    {
      label: 'at saturation: each is offered 10% more than it takes',
      saturate: true,
      subscribers: SUBSCRIBERS,
      publishers: PUBLISHERS,
      rest: REST,
    },
    { label: 'a lone message: 1 subscriber, 1 publisher, 5 messages/s', subscribers: 1, publishers: 1, perSecond: 5 },
    ...(quick ? workload1Cells([[1000, 50]]) : workload1Cells()),
  ],
  columns: roomColumns,
  run: (row) => (row.cell.saturate ? runSaturated(row) : runRoom(row)),
};

/** The cost of a delivery, and its latency, against the longest window that gjallar may gather messages in. */
export const windows = {
  about: `one room of ${shown(SUBSCRIBERS)} subscribers with different values of FLUSH_MS`,
  peers: { gjallar: {} },
  cells: (quick) =>
    (quick ? [400] : [100, 400, 1000]).flatMap((perSecond) =>
      (quick ? [0, 25] : [0, 5, 10, 25, 50]).map((flushMs) => ({
        label: `${shown(perSecond)} messages/s, FLUSH_MS=${flushMs}`,
        subscribers: SUBSCRIBERS,
        publishers: PUBLISHERS,
        perSecond,
        rest: perSecond > 100 ? REST : 0,
        peer: { flushMs },
      })),
    ),
  columns: roomColumns,
  run: runRoom,
};
