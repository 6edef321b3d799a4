import fc from 'fast-check';
import { Connection, request, upgradeRequest } from '../../../harness/connection.js';
import { mutated, upTo } from '../values.js';

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

const inserts = fc.oneof(
  fc.constantFrom(
    ...['\r\n', '\n', '\r', '\0', ' ', '\t', ':', '\x7f', '\xff', ' HTTP/1.0', '%00', '../', 'x'.repeat(5_000)],
    ...['Content-Length: 3\r\n', 'Transfer-Encoding: chunked\r\n', 'Transfer-Encoding: x\r\n', 'Host: y\r\n'],
  ),
  fc.uint8Array({ minLength: 1, maxLength: 6 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
);

export const weight = 6;
const edited = mutated(fc.constantFrom(...originals), { inserts, removed: [0, 0, 1, 2, 10], least: 1 });
export const arbitrary = upTo(6, edited);

export async function play(requests, { port, use }) {
  const playOne = async (bytes) => {
    const connection = use(new Connection(port).write(bytes), 'end');
    // The end of the own half ends whatever the server still waits for.
    connection.endHalf();
    for (let response = await connection.response(); response; response = await connection.response()) {
      if (response.status === 101 || response.status === 505) break;
      if (response.status >= 500) throw new Error(`status ${response.status}: ${JSON.stringify(bytes)}`);
    }
  };
  await Promise.all(requests.map(playOne));
  return requests.length;
}
