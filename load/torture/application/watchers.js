// A process with a few clients that say numbers so often that they notice any silence: see `Child` for its orders.
import { answerOrders } from '../../harness/process/orders.js';
import { Talkers } from './talkers.js';

const watchers = new Talkers();

answerOrders({
  async open({ url, count, ways, perSecond }) {
    await watchers.open(url, count, ways);
    watchers.talk(perSecond);
  },
  /** How long those waited that have moved since the last look, in ms, and what went wrong since the start. */
  look() {
    const { outOfTurn, returns } = watchers;
    return { silences: watchers.takeSilences(), outOfTurn, returns };
  },
});
process.send({ ready: true });
