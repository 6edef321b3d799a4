import fc from 'fast-check';
import { Connection, request, upgradeRequest } from '../../../harness/connection.js';

/** Requests with bytes changed, left out, doubled or put in: whatever comes back is no success that was not asked for. */

const originals = [
  request('GET', '/'),
  request('GET', '/healthz'),
  request('GET', '/socket.io/?EIO=4&transport=polling&sid=1.x'),
  request('POST', '/socket.io/?EIO=4&transport=polling&sid=1.x', { 'Content-Type': 'text/plain' }, '40'),
  request('POST', '/api/rooms/a/messages', { Authorization: 'Bearer wrong' }, '{"text":"x"}'),
  request('POST', '/api/rooms/a/messages', { 'Transfer-Encoding': 'chunked' }).toString() +
    '5\r\n{"a":\r\n2\r\n1}\r\n0\r\n\r\n',
  upgradeRequest('/socket.io/?EIO=4&transport=websocket&sid=1.x'),
  upgradeRequest('/room?token=x'),
].map((bytes) => Buffer.from(bytes).toString('latin1'));

const edit = fc.record({
  at: fc.nat(10_000),
  remove: fc.constantFrom(0, 0, 1, 2, 10),
  insert: fc.oneof(
    fc.constantFrom(
      '\r\n',
      '\n',
      '\r',
      '\0',
      ' ',
      '\t',
      ':',
      '\x7f',
      '\xff',
      'Content-Length: 3\r\n',
      'Transfer-Encoding: chunked\r\n',
      'Transfer-Encoding: x\r\n',
      'Host: y\r\n',
      ' HTTP/1.0',
      '%00',
      '../',
      'x'.repeat(5_000),
    ),
    fc.uint8Array({ minLength: 1, maxLength: 6 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
  ),
});

export const weight = 6;
export const arbitrary = fc.array(
  fc.tuple(fc.constantFrom(...originals), fc.array(edit, { minLength: 1, maxLength: 4 })).map(([original, edits]) => {
    let bytes = original;
    for (const { at, remove, insert } of edits) {
      const from = at % (bytes.length + 1);
      bytes = bytes.slice(0, from) + insert + bytes.slice(from + remove);
    }
    return bytes;
  }),
  { minLength: 1, maxLength: 6, size: 'max' },
);

export async function play(requests, { port }) {
  await Promise.all(requests.map((bytes) => playOne(bytes, port)));
  return requests.length;
}

async function playOne(bytes, port) {
  const connection = new Connection(port).write(bytes);
  // The end of the own half ends whatever the server still waits for.
  connection.endHalf();
  try {
    for (let response = await connection.response(); response; response = await connection.response()) {
      if (response.status === 101 || response.status === 505) break;
      if (response.status >= 500) throw new Error(`status ${response.status}: ${JSON.stringify(bytes)}`);
    }
  } finally {
    connection.end();
  }
}
