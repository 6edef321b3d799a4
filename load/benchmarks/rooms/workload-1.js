// The rooms of workload 1. Its source states neither rate nor message size. Here each publisher sends four messages a
// second, more than a person would: stock socket.io then keeps up with the third cell and not with the fourth, as the
// published figures suggest, and the last cell is 400 messages a second to 1,000 subscribers.

import { shown } from '../shown.js';
import { REST } from './room.js';

const PER_PUBLISHER = 4;

const table = [
  [10, 1],
  [100, 5],
  [1000, 10],
  [1000, 50],
  [1000, 100],
];

/** @param {[number, number][]} [chosen] subscribers and publishers of each cell */
export const workload1Cells = (chosen = table) =>
  chosen.map(([subscribers, publishers]) => ({
    label: `workload 1: ${shown(subscribers)} subscribers, ${publishers} ${publishers === 1 ? 'publisher' : 'publishers'} of ${PER_PUBLISHER} messages/s each`,
    subscribers,
    publishers,
    perSecond: publishers * PER_PUBLISHER,
    rest: publishers * PER_PUBLISHER * subscribers > 100_000 ? REST : 0,
  }));
