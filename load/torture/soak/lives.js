import { setTimeout as sleep } from 'node:timers/promises';
import { Connection, frame, opcodes, request, upgradeRequest } from '../../harness/connection.js';
import { join } from '../fuzz/clients.js';

const ROOMS = 40;
const TALKS = 5;

/**
 * One client from its coming to its end, which is in order or without a word.
 * @typedef {object} World
 * @property {number} port
 * @property {string} apiKey
 * @property {() => number} random
 * @property {number} longest pause between two actions of a client, in ms
 * @property {boolean} vanishOnPolling whether sessions on polling may be left to their heartbeat
 */

const pick = (random, values) => values[Math.floor(random() * values.length)];
const pause = (world) => sleep(world.random() * world.pause);

/** @param {World} world */
async function socketIo(world, transport) {
  const { port, random } = world;
  const client = await join(port, transport, { name: `user ${Math.floor(random() * 500)}` });
  const rooms = [pick(random, roomNames), pick(random, roomNames)];
  let id = 0;
  const call = async (event, input) => {
    const own = `43${id}`;
    client.send([`42${id++}${JSON.stringify([event, input])}`]);
    for (let packet = await client.next(); ; packet = await client.next()) {
      if (packet === undefined) throw new Error(`the connection was closed at ${event}`);
      if (!packet.startsWith(`${own}[`)) continue;
      if (!packet.startsWith(`${own}[{"ok":true`)) throw new Error(`${event}: ${packet}`);
      return;
    }
  };
  for (const room of rooms) await call('join', room);
  for (let talk = 0; talk < TALKS; talk++) {
    await pause(world);
    await call('message', { room: pick(random, rooms), text: `words ${random()}` });
    if (random() < 0.1) await call('direct', { to: `user ${Math.floor(random() * 500)}`, text: 'psst' });
    if (random() < 0.1) await call('history', { room: rooms[0], limit: 10 });
    if (random() < 0.1) await call('who', rooms[0]);
  }
  if (random() < 0.5) await call('leave', rooms[0]);
  const vanishes = random() < 0.5 && (transport === 'websocket' || world.vanishOnPolling);
  if (vanishes) client.vanish();
  else await client.leave();
}

async function plain(world) {
  const { port, random } = world;
  const connection = new Connection(port).write(
    upgradeRequest(`/${encodeURIComponent(pick(random, roomNames))}?name=plain`),
  );
  const response = await connection.response();
  if (response?.status !== 101) throw new Error(`no plain WebSocket: ${response?.status}`);
  for (let talk = 0; talk < TALKS; talk++) {
    await pause(world);
    const text = `plain ${random()}`;
    connection.write(frame(text));
    for (let next = await connection.frame(); next?.payload.toString() !== text; next = await connection.frame()) {
      if (!next) throw new Error('the plain WebSocket was closed');
    }
  }
  if (random() < 0.5) return connection.vanish();
  connection.write(frame(Buffer.from([3, 232]), { opcode: opcodes.close }));
  await connection.ended();
}

async function api({ port, random, apiKey }) {
  const headers = { Authorization: `Bearer ${apiKey}` };
  const path = `/api/rooms/${encodeURIComponent(pick(random, roomNames))}/messages`;
  const connection = new Connection(port);
  for (const bytes of [request('POST', path, headers, '{"text":"over HTTP"}'), request('GET', path, headers)]) {
    const response = await connection.write(bytes).response();
    if (response?.status !== 200) throw new Error(`${response?.status}: ${response?.body}`);
  }
  connection.end();
}

const roomNames = Array.from({ length: ROOMS }, (_, number) => `soak ${number}`);

/** As many on polling as on WebSockets. @type {((world: World) => Promise<void>)[]} */
export const lives = [
  (world) => socketIo(world, 'polling'),
  (world) => socketIo(world, 'polling'),
  (world) => socketIo(world, 'websocket'),
  plain,
  api,
];
