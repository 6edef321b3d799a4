import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from '@jest/globals';
import type { Socket } from 'socket.io';
import { saveMemory } from '../../../src/io/rooms/socket-memory.private.js';
import { installedCopy } from '../../../src/io/socket-io-version.js';
import { recordStock } from './support/recording.js';

type Acks = Map<number, () => void>;
const acksOf = (socket: Socket) => (socket as unknown as { acks: Acks }).acks;

/** A socket of stock socket.io. */
async function stockSocket(): Promise<Socket> {
  const { connections } = await recordStock(1);
  return connections[0]!['/']!;
}

test('a socket keeps its acknowledgements in the Map that is replaced', async () => {
  const socket = await stockSocket();
  if (!(acksOf(socket) instanceof Map)) {
    throw new Error(
      `socket.io ${installedCopy()!.version} has no Socket.acks any more: adapt src/io/rooms/socket-memory.private.ts`,
    );
  }
  socket.emit('event', () => {});
  expect(acksOf(socket).size).toBe(1);
  const pending = acksOf(socket);
  saveMemory(socket);
  expect(acksOf(socket)).toBe(pending);
});

test('the object in its place does what a Map does', async () => {
  const socket = await stockSocket();
  saveMemory(socket);
  const acks = acksOf(socket);
  expect(acks).not.toBeInstanceOf(Map);
  const noop = () => {};
  const steps: ((map: Acks) => unknown)[] = [
    (map) => map.get(1),
    (map) => map.has(1),
    (map) => map.delete(1),
    (map) => map.clear(),
    (map) => map.set(1, noop) === map && map.set(2, noop) === map,
    (map) => [map.get(1), map.has(1), map.has(3)],
    (map) => map.delete(1),
    (map) => map.set(3, noop) === map,
    (map) => map.clear(),
  ];
  const stock: Acks = new Map();
  const look = (map: Acks) => {
    const each: unknown[] = [];
    map.forEach((value, key, itself) => {
      each.push([key, value, itself === map]);
    });
    return [map.size, [...map], [...map.keys()], [...map.values()], [...map.entries()], each, String(map)];
  };
  for (const step of steps) {
    expect(look(acks)).toEqual(look(stock));
    expect(step(acks)).toEqual(step(stock));
  }
  expect(look(acks)).toEqual(look(stock));
});

test('sockets of one second share the text of their time', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const heap = () => {
    collect();
    return process.memoryUsage().heapUsed;
  };
  const at = Date.now();
  const add = () => {
    const socket = { handshake: { time: String(new Date(at)) } };
    saveMemory(socket as never);
    return socket;
  };
  const before = heap();
  const sockets = Array.from({ length: 50_000 }, add);
  const bytesEach = (heap() - before) / sockets.length;
  // Two objects of two fields each; the text alone would be 80 bytes.
  expect(bytesEach).toBeLessThan(120);
});
