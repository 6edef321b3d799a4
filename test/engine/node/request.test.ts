import type { IncomingMessage } from 'node:http';
import { expect, test } from '@jest/globals';
import { readMessage } from '../../../src/engine/node/request.js';

const socket = { remoteAddress: '127.0.0.1' };

/** A message as node:http would have read it. */
function messageOf(headers: Record<string, string>, rawHeaders: string[]): IncomingMessage {
  const about = { method: 'GET', url: '/socket.io/?EIO=4', httpVersion: '1.1', httpVersionMajor: 1 };
  return { ...about, headers, rawHeaders, socket } as unknown as IncomingMessage;
}

const read = (headers: Record<string, string>, raw: string[]) => readMessage(messageOf(headers, raw), 0);

test('clients with the same names of headers get raw headers with their own values', () => {
  const requests = ['ada', 'bob'].map((name) =>
    read({ host: 'here', 'x-name': name }, ['Host', 'here', 'X-Name', name]),
  );
  expect(requests.map(({ rawHeaders }) => rawHeaders)).toEqual([
    ['Host', 'here', 'X-Name', 'ada'],
    ['Host', 'here', 'X-Name', 'bob'],
  ]);
  expect(read({ host: 'here', 'x-name': 'eve' }, ['host', 'here', 'x-name', 'eve']).rawHeaders).toEqual([
    ...['host', 'here', 'x-name', 'eve'],
  ]);
});

test('the raw headers of a request have each of those that are repeated', () => {
  const raw = ['Host', 'here', 'Accept', 'a', 'accept', 'b'];
  expect(read({ host: 'here', accept: 'a, b' }, raw).rawHeaders).toEqual(raw);
});

test('a raw header that the headers cannot have is kept', () => {
  const raw = ['Host', 'here', '__proto__', 'x'];
  expect(read({ host: 'here' }, raw).rawHeaders).toEqual(raw);
});

test('the connection of a request is its socket, except behind a proxy', () => {
  const message = messageOf({ 'x-forwarded-for': '192.0.2.1' }, ['X-Forwarded-For', '192.0.2.1']);
  expect(readMessage(message, 0).connection).toBe(socket);
  expect(readMessage(message, 1).connection.remoteAddress).toBe('192.0.2.1');
});
