import { Connection } from '../../../harness/connection.js';

const publish = (headers, body) =>
  `POST /api/rooms/a/messages HTTP/1.1\r\nHost: x\r\n${headers.join('\r\n')}\r\n\r\n${body}`;
const SMUGGLED = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n';
const BODY = '{"text":"a"}';

/** Requests that two servers in a row could read as two different ones, and others that are none. */
export const badRequests = (key) => {
  const bearer = `Authorization: Bearer ${key}`;
  return {
    'two lengths that differ': publish([bearer, 'Content-Length: 12', 'Content-Length: 4'], BODY + SMUGGLED),
    'a length of zero and another': publish([bearer, 'Content-Length: 0', 'Content-Length: 12'], SMUGGLED),
    'length and chunks': publish([bearer, 'Content-Length: 5', 'Transfer-Encoding: chunked'], `0\r\n\r\n${SMUGGLED}`),
    'chunks and length': publish([bearer, 'Transfer-Encoding: chunked', 'Content-Length: 5'], `0\r\n\r\n${SMUGGLED}`),
    'a coding that is none': publish([bearer, 'Transfer-Encoding: xchunked'], `0\r\n\r\n${SMUGGLED}`),
    'a space before the colon': publish([bearer, 'Transfer-Encoding : chunked'], `0\r\n\r\n${SMUGGLED}`),
    'a list of lengths': publish([bearer, 'Content-Length: 12, 12'], BODY),
    'a signed length': publish([bearer, 'Content-Length: +12'], BODY),
    'a negative length': publish([bearer, 'Content-Length: -1'], BODY),
    'a hexadecimal length': publish([bearer, 'Content-Length: 0xc'], BODY),
    'a length beyond numbers': publish([bearer, 'Content-Length: 99999999999999999999'], BODY),
    'a chunk beyond numbers': publish([bearer, 'Transfer-Encoding: chunked'], `ffffffffffffffff1\r\n${BODY}`),
    'a bare line feed': `GET /healthz HTTP/1.1\nHost: x\n\n${SMUGGLED}`,
    'a folded header': `GET /healthz HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n`,
    'no host': 'GET /healthz HTTP/1.1\r\n\r\n',
    'a NUL in the path': 'GET /heal\0thz HTTP/1.1\r\nHost: x\r\n\r\n',
    'HTTP/1.0': 'GET /healthz HTTP/1.0\r\nHost: x\r\n\r\n',
    'HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'a header that is too long': `GET /healthz HTTP/1.1\r\nHost: x\r\nA: ${'x'.repeat(40_000)}\r\n\r\n`,
    'too many headers': `GET /healthz HTTP/1.1\r\nHost: x\r\n${'A: b\r\n'.repeat(300)}\r\n`,
    'a path that climbs': 'GET /../../../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n',
    'one that climbs encoded': 'GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n',
    'one that climbs backwards': 'GET /..\\..\\package.json HTTP/1.1\r\nHost: x\r\n\r\n',
    'one in overlong UTF-8': 'GET /%c0%ae%c0%ae/package.json HTTP/1.1\r\nHost: x\r\n\r\n',
    'the bundle of another folder': 'GET /socket.io/../../package.json HTTP/1.1\r\nHost: x\r\n\r\n',
    TLS: Buffer.from('1603010200010001fc0303', 'hex'),
  };
};

/** No request of these gets what it asks for, nor does what was hidden behind it. */
export async function expectRefused(port, bytes) {
  const connection = new Connection(port).write(bytes);
  // Some of them could go on: the server waits for more, and gives up after some seconds.
  setTimeout(() => connection.endHalf(), 200);
  for (let response = await connection.response(); response; response = await connection.response()) {
    if (response.status < 400) throw new Error(`status ${response.status}: ${response.body}`);
  }
}
