import { now } from '../clock.js';
import { pace } from '../pace.js';
import { eventFrame } from '../wire.js';

const MESSAGES = 10;
const MESSAGE_LENGTH = 10_000;

// 42["data","0…": the text starts with its number, 0 to 9.
const NUMBER_AT = 11;
const ANSWER_LENGTH = MESSAGE_LENGTH + '42["data",""]'.length;

/**
 * Workload 3's client: a heartbeat a second, and a check that ten messages of 10,000 bytes came back, in order. The
 * clients' heartbeats are spread evenly over the second. Latency is from the heartbeat to the tenth message. A client
 * that still waits for messages when its turn comes is passed over and counted as late.
 */
export function heartbeat(clients, _options, counters, latency) {
  const frame = eventFrame('heartbeat');
  const sentAt = new Map();
  let turn = 0;
  for (const client of clients) client.state = MESSAGES;
  pace(clients.length, () => {
    const client = clients[turn++ % clients.length];
    if (client.state !== MESSAGES) {
      counters.late++;
      return;
    }
    client.state = 0;
    sentAt.set(client, now());
    counters.sent++;
    client.send(frame);
  });
  return {
    event(client, bytes, at, length) {
      counters.received++;
      if (length !== ANSWER_LENGTH || bytes[at + NUMBER_AT] - 48 !== client.state) counters.errors++;
      client.state++;
      if (client.state === MESSAGES) latency.record(now() - sentAt.get(client));
    },
  };
}
