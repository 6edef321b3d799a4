import type { IncomingMessage, ServerResponse } from 'node:http';
import { classes, run } from './servers.js';

const [, [, Server]] = classes;

export interface Seen {
  readonly request: string;
  body: string;
}

/** Answers `/early` before it reads, and other requests once it has read their bodies. */
export async function application() {
  const seen: Seen[] = [];
  const listener = (message: IncomingMessage, response: ServerResponse) => {
    if (message.url === '/healthz') return void response.end();
    const entry = { request: `${message.method} ${message.url}`, body: '' };
    seen.push(entry);
    const answer = () => void response.end(entry.request);
    message.on('data', (part) => {
      entry.body += part;
    });
    if (message.url === '/early') answer();
    else message.on('end', answer);
    message.on('error', () => {});
  };
  return { seen, ...(await run(Server, listener)) };
}

const chunked = (path: string) => `POST ${path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`;
const SMUGGLED = 'GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n';

/** What an attacker sends. Each part is sent when the server has read the one before. */
export const attacks: Record<string, readonly string[]> = {
  'trailers that uWebSockets.js would parse as a request': [
    `${chunked('/attacker')}2\r\nab\r\n0\r\nxyGET: /smuggled HTTP/1.1\r\nHost: x\r\n\r\n`,
  ],
  'trailers that would announce a body': [
    `${chunked('/attacker')}2\r\nab\r\n0\r\nxyPOST: /smuggled HTTP/1.1\r\nHost: x\r\nContent-Length: 400\r\n\r\n`,
  ],
  'trailers with an empty method': [`${chunked('/attacker')}0\r\nx: /smuggled HTTP/1.1\r\nHost: x\r\nA: b\r\n\r\n`],
  'trailers that follow later': [
    `${chunked('/attacker')}2\r\nab\r\n0\r\n`,
    'xyGET: /smuggled HTTP/1.1\r\nHost: x\r\n\r\n',
  ],
  'trailers after an early answer': [
    `${chunked('/early')}2\r\nab\r\n`,
    '0\r\nxyPOST: /smuggled HTTP/1.1\r\nHost: x\r\nContent-Length: 400\r\n\r\n',
  ],
  'an extension of a chunk': [`${chunked('/attacker')}2;a=b\r\nab\r\n0\r\n\r\n`],
  'an extension of a chunk, and an early answer': [`${chunked('/early')}2;a=b\r\nab\r\n0\r\n\r\n`],
  'a chunk with a wrong end': [`${chunked('/attacker')}2\r\nabXX0\r\n\r\n${SMUGGLED}`],
  'a last chunk with a wrong end': [`${chunked('/attacker')}2\r\nab\r\n0\r\nXX${SMUGGLED}`],
  'a chunk that is beyond all numbers': [`${chunked('/attacker')}ffffffffffffffff2\r\nab\r\n0\r\n\r\n${SMUGGLED}`],
  'a request after a body in chunks': [`${chunked('/attacker')}2\r\nab\r\n0\r\n\r\n${SMUGGLED}`],
  'a request after Connection: close': [`GET /attacker HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n${SMUGGLED}`],
  'two hosts': [`GET /attacker HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n${SMUGGLED}`],
  'a method that is no token': [`GET: /attacker HTTP/1.1\r\nHost: x\r\n\r\n${SMUGGLED}`],
  'two lengths': [`POST /attacker HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 0\r\n\r\n${SMUGGLED}`],
  'a length with a sign': [`POST /attacker HTTP/1.1\r\nHost: x\r\nContent-Length: +0\r\n\r\n${SMUGGLED}`],
  'a length and chunks': [
    `POST /attacker HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${SMUGGLED}`,
  ],
  'a coding that is not chunked': [
    `POST /attacker HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${SMUGGLED}`,
  ],
  'a header that is folded': [
    `POST /attacker HTTP/1.1\r\nHost: x\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n${SMUGGLED}`,
  ],
  'a space before a colon': [
    `POST /attacker HTTP/1.1\r\nHost: x\r\nContent-Length : ${SMUGGLED.length}\r\n\r\n${SMUGGLED}`,
  ],
  'bare line feeds': [`GET /attacker HTTP/1.1\nHost: x\nContent-Length: 0\n\n${SMUGGLED}`],
  'a bare carriage return': [`GET /attacker HTTP/1.1\r\nHost: x\rContent-Length: 90\r\n\r\n${SMUGGLED}`],
  'half a request': ['POST /attacker HTTP/1.1\r\nHost: x\r\nContent-Le'],
  'a body that is broken off': ['POST /attacker HTTP/1.1\r\nHost: x\r\nContent-Length: 400\r\n\r\nab'],
};
