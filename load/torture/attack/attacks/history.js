import { text } from '../attacker/dial.js';
import { filled, many } from '../attacker/kit.js';
import { event, member } from './chat-floods.js';
import { API_KEY, fill } from './pipelines.js';

// What the server reads and keeps for a client.

const CAP_MB = 50;
/** SQLite's log, its index, and what is trimmed in the next round. */
const CAP_SLACK_MB = 50;
const long = '€'.repeat(10_000);

const page = '421["history",{"room":"filled","limit":1000}]';

const pages = {
  name: 'history: 800 pages of 1,000 messages in one POST',
  about: 'a room of 1,000 messages of 10,000 characters, read by 32 KB of requests',
  environment: { API_KEY },
  prepare: fill,
  run: (attacker) => attacker.postOn(() => attacker.polling(), many(800, page), { isPolling: false }),
};

const pagesPolled = {
  ...pages,
  name: 'history: 800 pages of 1,000 messages in one POST, polled',
  run: (attacker) => attacker.postOn(() => attacker.polling(), many(800, page)),
};

const pagesOnSocket = {
  name: 'history: pages of 1,000 messages on a WebSocket that does not read',
  about: 'the same on a WebSocket',
  environment: { API_KEY },
  prepare: fill,
  run: (attacker) => attacker.floodOn(async () => (await attacker.socket()).stopReading(), filled(text(page), 32_000)),
};

/** Packets that name something new each time. */
const numbered = (count, packetOf) => {
  let next = 0;
  return () => Buffer.concat(Array.from({ length: count }, () => packetOf(next++)));
};

const growing = (name, about, packetOf, { bounds, environment } = {}) => ({
  name: `history: ${name}`,
  about,
  bounds,
  environment,
  run: (attacker) => {
    const make = numbered(50, packetOf);
    return attacker.again(async () => {
      const connection = await attacker.socket();
      while (await attacker.send(connection, make()));
      connection.close();
    });
  },
});

const appends = {
  about: 'messages of 10,000 characters of three bytes each, four connections',
  run: (attacker) =>
    Promise.all(
      ['a', 'b', 'c', 'd'].map((room) =>
        attacker.floodOn(() => member(attacker, room), filled(event('message', { room, text: long }), 120_000)),
      ),
    ),
};

/** @type {import('../attacks.js').Attack[]} */
export const historyAttacks = [
  pages,
  pagesPolled,
  pagesOnSocket,
  { name: 'history: messages of 30 KB', ...appends },
  {
    name: `history: messages of 30 KB, HISTORY_MAX_BYTES of ${CAP_MB} MB`,
    ...appends,
    environment: { HISTORY_MAX_BYTES: String(CAP_MB * 1_000_000) },
    bounds: { disk: CAP_MB + CAP_SLACK_MB },
  },
  growing('direct messages to new names', 'a conversation for each message', (number) =>
    event('direct', { to: `name ${number}`, text: 'x' }),
  ),
  growing(
    'unknown rooms that are read',
    'reads must not create anything',
    (number) => event('history', { room: `unknown ${number}` }),
    { bounds: { disk: 5 } },
  ),
  growing('rooms that are new, joined and left', 'a room for each', (number) =>
    Buffer.concat([event('join', `new ${number}`), event('leave', `new ${number}`)]),
  ),
];
