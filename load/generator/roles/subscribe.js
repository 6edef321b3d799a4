import { now, readStamp } from '../clock.js';
import { setRest } from '../rest.js';

// Where the text starts in `42["message","…`.
const TEXT_AT = 14;

/**
 * Counts the room's messages and times every `every`-th. `every` should be a prime, so that it does not share a factor
 * with the number of subscribers and pick the same ones again and again. `rest` is explained in `rest.js`.
 */
export function subscribe(_clients, { every, rest }, counters, latency) {
  setRest(rest);
  let untilSample = every;
  return {
    event(_client, bytes, at) {
      counters.received++;
      if (--untilSample > 0) return;
      untilSample = every;
      const sent = readStamp(bytes, at + TEXT_AT);
      if (sent > 0) latency.record(now() - sent);
      else counters.errors++;
    },
  };
}
