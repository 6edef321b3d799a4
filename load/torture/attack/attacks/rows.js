import { upgradeRequest } from '../../../harness/connection.js';
import { text } from '../attacker/kit.js';

// What the tables of attacks are made of: ways in, and ways to attack. A row has a name, what is sent, and more fields
// of an Attack.

export const MB = 1_000_000;
export const API_KEY = 'attack-key';
export const event = (...values) => text(`42${JSON.stringify(values)}`);

/** Ways in: each opens a connection, or a session on polling. */
export const socket = (attacker) => attacker.socket();
/** A WebSocket of the engine that has not joined a namespace. */
export const early = (attacker) => attacker.socket({ auth: null });
export const polling = (attacker) => attacker.polling();
export const http = async (attacker) => (await attacker.http()).discard();
export const unread = (open) => async (attacker) => (await open(attacker)).stopReading();

/** A WebSocket whose client has joined a room. */
export const member =
  (room = 'flood') =>
  async (attacker) => {
    const connection = await attacker.socket();
    await connection.write(event('join', room));
    return connection;
  };

/** The WebSocket of an upgrade; its session is at the worker that is attacked, or at the `other` one. */
export const probed = (owner) => async (attacker) => {
  const session = await attacker.polling({ worker: attacker[owner] });
  return attacker.plain(session.path.replace('polling', 'websocket'));
};

/** A connection to any worker. */
export async function raw(attacker, bytes, address) {
  const connection = attacker.open(address);
  await attacker.send(connection, bytes);
  return connection;
}

export async function plainSocket(attacker, path, address) {
  const connection = await raw(attacker, upgradeRequest(path), address);
  await attacker.answer(connection);
  return connection.discard();
}

/** Some addresses, one after the other: a limit of connections of one address keeps none out. */
export const addressOf = (number, addresses = 4) => `127.0.0.${70 + (number % addresses)}`;

/** The same bytes as fast as the attacker may, on connections that `open` opens one after the other. */
export const flood = (name, open, bytes, more) => ({
  name,
  about: `${bytes.length} bytes on one connection, again and again`,
  run: (attacker) => attacker.floodOn(open, bytes),
  ...more,
});

/** The same body in one POST after the other. */
export const posts = (name, body, { open = polling, isPolling, ...more } = {}) => ({
  name,
  about: `${body.length} characters in one POST: ${body.slice(0, 40)}…`,
  run: (attacker) => attacker.postOn(open, body, { isPolling }),
  ...more,
});

export const bearer = { Authorization: `Bearer ${API_KEY}` };

/** A call of the HTTP API, with the key, to prepare an attack. */
export async function call({ port }, method, path, body) {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers: bearer, body });
  if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`);
  return response;
}

/** What a row needs that reads a room with as much as a page of history can hold. */
export const filledRoom = {
  environment: { API_KEY },
  prepare: async (attacker) => {
    const body = JSON.stringify({ messages: Array(50).fill({ text: 'x'.repeat(10_000) }) });
    for (let batch = 0; batch < 20; batch++) await call(attacker, 'POST', '/api/rooms/filled/messages', body);
  },
};
