import { now } from '../clock.js';
import { pace } from '../pace.js';
import { eventFrame } from '../wire.js';

/**
 * Sends `size` characters `perSecond` times a second, the clients taking turns, and times the answers. A client whose
 * last answer is still out is passed over and counted as late: there is one message in flight per client at most.
 */
export function echo(clients, { event, size, perSecond }, counters, latency) {
  const frame = eventFrame(event, 'x'.repeat(size));
  // 42["echo","…"]
  const answerLength = 2 + JSON.stringify([event, 'x'.repeat(size)]).length;
  let turn = 0;
  pace(perSecond, () => {
    const client = clients[turn++ % clients.length];
    if (client.state !== 0) {
      counters.late++;
      return;
    }
    client.state = now();
    counters.sent++;
    client.send(frame);
  });
  return {
    event(client, _bytes, _at, length) {
      counters.received++;
      if (length !== answerLength || client.state === 0) counters.errors++;
      else latency.record(now() - client.state);
      client.state = 0;
    },
  };
}
