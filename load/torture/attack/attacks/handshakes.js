import { setTimeout as sleep } from 'node:timers/promises';
import { request, upgradeRequest } from '../../fuzz/connection.js';
import { ENGINE, text } from '../dial.js';
import { filled } from '../kit.js';
import { RawConnection } from '../raw-connection.js';

// Clients that come, and never get as far as being one.

const JWT_SECRET = 'a secret of more than thirty-two bytes';
const handshake = request('GET', `${ENGINE}&transport=polling`);
const token = `${Buffer.from('{"alg":"HS256"}').toString('base64url')}.${Buffer.from('{"sub":"x"}').toString('base64url')}.AAAA`;

const sessions = {
  name: 'handshakes: sessions that are never used',
  about: 'polling handshakes on eight connections, ten at a time',
  run: (attacker) =>
    Promise.all(
      Array.from({ length: 8 }, () =>
        attacker.again(async () => {
          const connection = await attacker.http();
          const ten = filled(handshake, handshake.length * 10);
          while (await attacker.send(connection, ten)) {
            for (let answers = 0; answers < 10; answers++) {
              if ((await connection.response(Math.max(1, attacker.left)))?.status !== 200) return connection.close();
            }
          }
          connection.close();
        }),
      ),
    ),
};

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

const guessesOverHttp = {
  name: 'handshakes: guesses of tokens, HTTP',
  about: 'pages of history with tokens whose signature is wrong',
  environment: { JWT_SECRET },
  run: (attacker) =>
    attacker.floodOn(
      async () => (await attacker.http()).discard(),
      filled(request('GET', '/api/rooms/a/messages', { Authorization: `Bearer ${token}` })),
    ),
};

const guessesOfKey = {
  name: 'handshakes: guesses of tokens, plain WebSocket',
  about: 'upgrades with ?token= whose signature is wrong',
  environment: { JWT_SECRET },
  run: (attacker) =>
    attacker.floodOn(async () => (await attacker.http()).discard(), filled(upgradeRequest(`/room?token=${token}`))),
};

/** @type {import('../attacks.js').Attack[]} */
export const handshakes = [
  sessions,
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
  guessesOverHttp,
  guessesOfKey,
];
