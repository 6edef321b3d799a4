import { now, readStamp } from '../clock.js';
import { pace } from '../pace.js';
import { setRest } from '../rest.js';
import { textFrame } from '../wire.js';

const S = 's'.charCodeAt(0);
// Where the event's name starts in `42["state",…`.
const NAME_AT = 4;
const BEFORE_STAMP = '"t":"';
const BEFORE_NUMBER = '"n":"';

/**
 * Clients of a state room. They count messages and bytes, and take age and number of the first value of every `every`-th
 * message: the largest number tells how much was published.
 * With `pause`, they sleep for so many ms after each read.
 */
export function follow(clients, { every = 1, rest = 0, pause = 0 }, counters, latency) {
  setRest(rest);
  for (const client of clients) client.slowDown(pause);
  let untilSample = every;
  return {
    event(_client, bytes, at, length) {
      if (bytes[at + NAME_AT] !== S) return;
      counters.received++;
      counters.bytes += length;
      if (--untilSample > 0) return;
      untilSample = every;
      const found = bytes.indexOf(BEFORE_STAMP, at, 'latin1');
      const sent = readStamp(bytes, found + BEFORE_STAMP.length);
      if (!(found >= 0 && sent > 0)) return;
      latency.record(now() - sent);
      const number = bytes.indexOf(BEFORE_NUMBER, found, 'latin1') + BEFORE_NUMBER.length;
      counters.published = Math.max(counters.published, readStamp(bytes, number) * 1000);
    },
  };
}

/**
 * Clients that join again and again, `perSecond` of them in turn, with the event `event`. Times each from the request to
 * its acknowledgement.
 */
export function joinAgain(clients, { event, perSecond }, counters, latency) {
  const frame = textFrame(`420${JSON.stringify([event, {}])}`);
  pace(perSecond, () => {
    const client = clients[counters.sent++ % clients.length];
    client.state = now();
    client.send(frame);
  });
  return {
    event(_client, _bytes, _at, length) {
      counters.received++;
      counters.bytes += length;
    },
    acknowledged(client, isOk) {
      counters.acknowledged++;
      if (isOk) latency.record(now() - client.state);
      else counters.errors++;
    },
  };
}
