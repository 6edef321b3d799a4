import { now, readStamp, STAMP_LENGTH, stamp } from '../clock.js';
import { PEEK } from '../frames.js';
import { pace } from '../pace.js';
import { textFrame } from '../wire.js';

const BEFORE_TEXT = '"text":"';

/**
 * Pairs of users that write to each other. With `perSecond` they take turns at that rate, whatever the server does;
 * without it each sends its next message when the last is acknowledged. Latency is from the write to the addressee's
 * read; the sender's own copy is not counted.
 */
export function correspond(clients, { perSecond, size }, counters, latency) {
  const padding = 'x'.repeat(size - STAMP_LENGTH);
  const write = (client) => {
    counters.sent++;
    client.send(textFrame(`420${JSON.stringify(['direct', { to: partnerOf(client), text: stamp() + padding }])}`));
  };
  let turn = 0;
  if (perSecond) pace(perSecond, () => write(clients[turn++ % clients.length]));
  else for (const client of clients) write(client);
  return {
    event(client, bytes, at, length) {
      const seen = bytes.latin1Slice(at, at + Math.min(length, PEEK));
      if (!seen.startsWith('42["direct"') || !seen.includes(`"to":"${client.name}"`)) return;
      counters.received++;
      const sent = readStamp(bytes, at + seen.indexOf(BEFORE_TEXT) + BEFORE_TEXT.length);
      if (sent > 0) latency.record(now() - sent);
      else counters.errors++;
    },
    acknowledged(client, isOk) {
      counters.acknowledged++;
      if (!isOk) counters.errors++;
      if (!perSecond) write(client);
    },
  };
}

/** The names are numbered, and 0 writes to 1, 2 to 3 and so on. */
export const nameOf = (number) => `u${number}`;

function partnerOf({ name }) {
  return nameOf(Number(name.slice(1)) ^ 1);
}
