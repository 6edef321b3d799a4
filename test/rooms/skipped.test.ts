import { once } from 'node:events';
import { connect, type Socket as TcpSocket } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import type { Socket } from 'socket.io';
import { alone } from '../../src/backplanes/default-bus.js';
import { until } from '../support/until.js';
import { disconnectAll, pairOn, receivedBy } from './support/clients.js';
import { startNode, type TestNode } from './support/node.js';
import '../support/long.js';

let node: TestNode;
let slow: TcpSocket;

afterEach(async () => {
  slow.destroy();
  disconnectAll();
  await node.close();
});

/** A client that connects and then reads nothing until it is told to. */
async function connectSlow(): Promise<{ socket: Socket; read(): Promise<string> }> {
  slow = connect(Number(new URL(node.url).port), '127.0.0.1');
  const key = Buffer.alloc(16).toString('base64');
  const headers = [
    'Upgrade: websocket',
    'Connection: Upgrade',
    `Sec-WebSocket-Key: ${key}`,
    'Sec-WebSocket-Version: 13',
  ];
  slow.write(`GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\nHost: x\r\n${headers.join('\r\n')}\r\n\r\n`);
  await once(slow, 'data');
  const connected = new Promise<Socket>((resolve) => node.io.once('connection', resolve));
  // "40", masked with nothing.
  slow.write(Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0x34, 0x30]));
  const socket = await connected;
  await once(slow, 'data');
  slow.pause();
  return {
    socket,
    read: async () => {
      const chunks: Buffer[] = [];
      slow.on('data', (chunk: Buffer) => chunks.push(chunk));
      slow.resume();
      await until(() => Buffer.concat(chunks).includes('"last"'));
      return Buffer.concat(chunks).toString('latin1');
    },
  };
}

function isWritable(socket: Socket): boolean {
  return (socket.conn as unknown as { transport: { writable: boolean } }).transport.writable;
}

test.each([
  ['in windows', 25],
  ['at once', 0],
])('every delivery that a slow client misses is counted, sent %s', async (_name, flushMs) => {
  node = await startNode(alone, { engine: { flushMs, maxBackpressure: 65_536, slowPolicy: 'drop' } });
  const { socket, read } = await connectSlow();
  const others = await Promise.all(Array.from({ length: 4 }, () => pairOn(node)));
  for (const one of [socket, ...others.map((other) => other.socket)]) await one.join('room');
  const short = 'x'.repeat(10_000);
  // uWebSockets.js does not gather what is longer than 16 KB.
  const long = 'x'.repeat(20_000);
  let sent = 0;
  let toOthers = 0;
  for (let burst = 0; burst < 100; burst++) {
    // More and fewer than uWebSockets.js gathers for one subscriber, in several topics, and some to this one alone.
    for (let count = burst % 90; count >= 0; count--, sent++) {
      const name = `n${sent}.`;
      const padding = sent % 13 === 0 ? long : short;
      if (sent % 7 === 0) node.io.emit(name, padding);
      else if (sent % 11 === 0) socket.emit(name, padding);
      else node.io.to('room').emit(name, padding);
      if (sent % 7 === 0 || sent % 11 !== 0) toOthers++;
      if (sent % 5 === 0) {
        node.io.to('room').except(socket.id).emit(`others ${sent}`, padding);
        toOthers++;
      }
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
  // A fence that had to wait behind too many bytes would be skipped as well.
  await until(() => !node.engine.outbox.isHolding);
  await until(() => others.every((other) => isWritable(other.socket)));
  // On a busy machine those who do read may be too slow for a moment too.
  const received = await receivedBy(others, [node]);
  const missedByOthers = received.reduce((missed, messages) => missed + toOthers - messages.length, 0);
  const counted = node.engine.droppedDeliveries;
  const reading = read();
  await until(() => isWritable(socket));
  socket.emit('last');
  const arrived = new Set((await reading).match(/n\d+\./g)).size;
  expect(arrived).toBeGreaterThan(0);
  // The fence to all was one more.
  expect({ arrived, skipped: counted }).toEqual({ arrived, skipped: sent + 1 - arrived + missedByOthers });
});
