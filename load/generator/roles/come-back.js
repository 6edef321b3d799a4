import { textFrame } from '../wire.js';

/** Each client reads the last `limit` messages of a room, once. */
export function comeBack(clients, { room, limit }, counters) {
  const frame = textFrame(`420${JSON.stringify(['history', { room, limit }])}`);
  for (const client of clients) client.send(frame);
  return {
    event() {},
    acknowledged(_client, isOk) {
      counters.acknowledged++;
      if (!isOk) counters.errors++;
    },
  };
}
