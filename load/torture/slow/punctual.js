// The readers that are awake have a process of their own, so that the sleeping ones do not delay them.

import { Histogram } from '../../generator/histogram.js';
import { answerOrders } from '../../harness/process/orders.js';
import { Reader } from './reader.js';

const { port, room, count } = JSON.parse(process.argv[2]);
const delays = new Histogram();
const readers = [];
for (let i = 0; i < count; i++) readers.push(await Reader.join(port, room, 0, note));

/** A message begins with the time at which it was published. */
function note(text) {
  const at = Number(text.slice(0, text.indexOf(' ')));
  if (at) delays.record(Date.now() - at);
}

const orders = {
  /** How many messages each of them has. */
  received() {
    if (readers.some(({ isClosed }) => isClosed)) throw new Error('a reader was cut off');
    return readers.map(({ received }) => received);
  },

  /** The 99th percentile of the delays since the last look, in whole ms. */
  p99() {
    const p99 = Math.round(delays.percentile(0.99));
    delays.reset();
    return p99;
  },
};

answerOrders(orders);
process.send({ ready: true });
