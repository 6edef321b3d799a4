import { roomColumns, runRoom } from './room.js';

const PER_SECOND = 100;

/** What a message costs the fewer it goes to; `broadcast` has the same rate with 1,000 subscribers. */
export default {
  about: `rooms of different sizes with ${PER_SECOND} messages/s and packets of 60 bytes`,
  cells: (quick) =>
    (quick ? [10] : [1, 10, 100]).map((subscribers) => ({
      label: `${subscribers} ${subscribers === 1 ? 'subscriber' : 'subscribers'}`,
      subscribers,
      publishers: 1,
      perSecond: PER_SECOND,
    })),
  columns: roomColumns,
  run: runRoom,
};
