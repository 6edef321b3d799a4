import { setTimeout as sleep } from 'node:timers/promises';
import { request, upgradeRequest } from '../../../harness/connection.js';
import { ENGINE, text } from '../attacker/dial.js';
import { filled } from '../attacker/kit.js';
import { RawConnection } from '../attacker/raw-connection.js';

// Clients that come, and never get as far as being one.

const JWT_SECRET = 'a secret of more than thirty-two bytes';
const handshake = request('GET', `${ENGINE}&transport=polling`);
const token = `${Buffer.from('{"alg":"HS256"}').toString('base64url')}.${Buffer.from('{"sub":"x"}').toString('base64url')}.AAAA`;

const CONNECTIONS = 8;

/** Requests on eight connections, `count` at a time, each once those before were answered. */
const asked = (name, about, head, count, environment) => ({
  name: `handshakes: ${name}`,
  about,
  environment,
  run: (attacker) =>
    Promise.all(
      Array.from({ length: CONNECTIONS }, () =>
        attacker.again(async () => {
          const connection = await attacker.http();
          while (await attacker.send(connection, filled(head, head.length * count))) {
            for (let answers = 0; answers < count; answers++) {
              if (!(await connection.response(Math.max(1, attacker.left)))) return connection.close();
            }
          }
          connection.close();
        }),
      ),
    ),
});

/** Connections that are opened `perSecond` times a second and left as they are. */
function opened(name, about, perSecond, bytesOf, options) {
  return {
    name: `handshakes: ${name}`,
    about,
    ...options,
    run: async (attacker) => {
      const connections = [];
      while (!attacker.isOver && connections.length < MAX_OPEN) {
        attacker.dial.opened++;
        const connection = new RawConnection(attacker.port, attacker.address).discard();
        connections.push(connection);
        await attacker.send(connection, bytesOf());
        await sleep(1000 / perSecond);
      }
      await dribble(attacker, connections);
    },
  };
}

/** As many as one process may hold, beside what else it needs. */
const MAX_OPEN = 10_000;

/** A byte now and then keeps a head from being too slow. */
async function dribble(attacker, connections) {
  while (!attacker.isOver) {
    for (const connection of connections) if (!connection.isClosed) await attacker.send(connection, Buffer.from('x'));
    await sleep(500);
  }
}

const guesses = {
  name: 'handshakes: guesses of tokens, WebSocket',
  about: 'CONNECT with tokens whose signature is wrong',
  environment: { JWT_SECRET },
  run: (attacker) => attacker.floodOn(() => attacker.socketBefore(), filled(text(`40${JSON.stringify({ token })}`))),
};

/** @type {import('../attacks.js').Attack[]} */
export const handshakes = [
  asked('sessions that are never used', 'polling handshakes, ten at a time', handshake, 10),
  opened('WebSockets that never say anything', 'upgrades without CONNECT', 1000, () =>
    upgradeRequest(`${ENGINE}&transport=websocket`),
  ),
  opened('upgrades without an end', 'the head of an upgrade without its last line', 1000, () =>
    upgradeRequest(`${ENGINE}&transport=websocket`).subarray(0, -2),
  ),
  opened('heads that come byte by byte', 'GET / …, then a byte now and then', 1000, () =>
    Buffer.from('GET / HTTP/1.1\r\nHost: x\r\nX: '),
  ),
  opened('plain WebSockets', 'each in a room of its own', 1000, () => upgradeRequest(`/room${Math.random()}`)),
  guesses,
  asked(
    'guesses of tokens, HTTP',
    'pages of history with tokens whose signature is wrong',
    request('GET', '/api/rooms/a/messages', { Authorization: `Bearer ${token}` }),
    1,
    { JWT_SECRET },
  ),
  asked(
    'guesses of tokens, plain WebSocket',
    'upgrades with ?token= whose signature is wrong',
    upgradeRequest(`/room?token=${token}`),
    1,
    { JWT_SECRET },
  ),
];
