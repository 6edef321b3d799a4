import { now, readStamp } from '../clock.js';
import { setRest } from '../rest.js';

// Where the event's name starts in `42["message",…`: not every event is a message.
const NAME_AT = 4;
const M = 'm'.charCodeAt(0);

/**
 * Counts the room's messages and times every `every`-th. `every` should be a prime, so that it does not share a factor
 * with the number of subscribers and pick the same ones again and again. `before` is what stands before a message's
 * text, among the first bytes of the packet. `rest` is explained in `rest.js`.
 */
export function subscribe(_clients, { every, before, rest }, counters, latency) {
  setRest(rest);
  let untilSample = every;
  return {
    event(_client, bytes, at, length) {
      if (bytes[at + NAME_AT] !== M) return;
      counters.received++;
      counters.bytes += length;
      if (--untilSample > 0) return;
      untilSample = every;
      const found = bytes.indexOf(before, at, 'latin1');
      const sent = readStamp(bytes, found + before.length);
      if (found >= 0 && sent > 0) latency.record(now() - sent);
      else counters.errors++;
    },
  };
}
