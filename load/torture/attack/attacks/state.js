import { request, upgradeRequest } from '../../../harness/connection.js';
import { API_KEY, addressOf, bearer, call, MB, plainSocket, raw } from './rows.js';

// State rooms: short requests that concern much of what is stored, and clients that do not read it.

const environment = { API_KEY, STATE_ROOMS: 'attacked' };
const ROOM = '/api/state/attacked';
/** The bytes that wait for all clients of a worker in rows with a budget. */
const BUDGET = 80 * MB;
const limited = { ...environment, MAX_BUFFERED: String(2 * BUDGET) };
/** Half of the budget stays after it was exceeded, and what is sent between two looks comes on top. */
const bounds = { memory: 200 };

/** An object of about this number of bytes with short fields, which takes the longest to read and write. */
const fieldsOf = (bytes) =>
  `{${Array.from({ length: bytes / 12 }, (_, key) => `"k${`${key}`.padEnd(7, '_')}":1`).join(',')}}`;

const put = (attacker, key, body) => call(attacker, 'PUT', `${ROOM}/${key}`, body);

const CONNECTIONS = 30;

const patches = (name, bytes) => ({
  name: `state: PATCH of a value of ${name}`,
  about: `one field of a key, on ${CONNECTIONS} connections`,
  environment,
  prepare: (attacker) => put(attacker, 'large', fieldsOf(bytes)),
  run: (attacker) => attacker.asks(request('PATCH', `${ROOM}/large`, bearer, '{"k":1}'), { connections: CONNECTIONS }),
});

const WATCHERS = 400;
const VALUE = 900_000;
/** A WebSocket that has been in a room keeps a buffer of its longest message, which docs/limits.md says. */
const BUFFERS_MB = (WATCHERS * VALUE) / MB;

const watched = {
  name: `state: ${WATCHERS} plain WebSockets that watch large values and do not read`,
  about: 'a value of 900 KB is set ten times a second',
  environment: limited,
  bounds: { memory: bounds.memory + BUFFERS_MB },
  prepare: async (attacker) => {
    await put(attacker, 'large', '1');
    for (let watcher = 0; watcher < WATCHERS; watcher++) {
      // At the limit, there is no room for the session that finds the worker.
      (await attacker.plain(`${ROOM}?name=w${watcher}`, { address: addressOf(watcher, 8) })).stopReading();
    }
  },
  run: (attacker) => attacker.asks(request('PUT', `${ROOM}/large`, bearer, JSON.stringify('x'.repeat(VALUE)))),
};

const MEMBERS = 2000;
const AT_ONCE = 100;

/** A version that comes soon: the worker asks the hub for it. */
const future = {
  name: `state: ${MEMBERS} members with a version of the near future`,
  about: 'they join again and again while another client changes the room',
  environment,
  prepare: async (attacker) => {
    await put(attacker, 'key', '1');
    const connection = await raw(attacker, upgradeRequest(`${ROOM}?name=v`));
    await attacker.answer(connection);
    const { version } = JSON.parse((await connection.frame()).payload);
    connection.end();
    return version;
  },
  run: async (attacker, version) => {
    const path = `${ROOM}?name=m&version=${encodeURIComponent(soon(version))}`;
    const connections = [];
    const join = async () => {
      connections.push(await plainSocket(attacker, path, addressOf(connections.length)));
    };
    while (connections.length < MEMBERS && !attacker.isOver) {
      await Promise.all(Array.from({ length: AT_ONCE }, join)).catch((error) => {
        // Who waits for an answer when the time is over gets none.
        if (!attacker.isOver) throw error;
      });
    }
    await attacker.asks(request('PUT', `${ROOM}/key`, bearer, '2'));
    for (const connection of connections) connection.end();
  },
};

/** The version of a change that comes later. */
function soon(version) {
  const [epoch, number, ...rest] = version.split('.');
  return [epoch, (Number.parseInt(number, 36) + 1000).toString(36), ...rest].join('.');
}

/** @type {import('../attacks.js').Attack[]} */
export const stateAttacks = [patches('60 KB', 60_000), patches('900 KB', 900_000), watched, future];
