import { request } from '../../../harness/connection.js';

// Bodies in chunks whose ends a proxy and uWebSockets.js could see in different places.

const PATH = '/socket.io/?EIO=4&transport=polling';
const head = `POST ${PATH}&sid=1.AAAAAAAAAAAAAAAAAAAA HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`;
const handshake = request('GET', PATH).toString('latin1');

/** By name, what follows the head. */
const bodies = {
  'trailers that look like a request': `2\r\n4a\r\n0\r\nxyGET: ${PATH} HTTP/1.1\r\nHost: x\r\n\r\n`,
  'trailers that announce a body': `2\r\n4a\r\n0\r\nxyPOST: ${PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n`,
  'extensions of chunks': '2;a=b\r\n4a\r\n0\r\n\r\n',
  'chunks with wrong ends': `2\r\n4aXX0\r\nXX${handshake}`,
  'requests after a body in chunks': `2\r\n4a\r\n0\r\n\r\n${handshake.repeat(20)}`,
};

/** @type {import('../attacks.js').Attack[]} */
export const framing = Object.entries(bodies).map(([name, body]) => {
  const bytes = Buffer.from(head + body, 'latin1');
  return {
    name: `framing: ${name}`,
    about: `${bytes.length} bytes on one connection after the other`,
    run: (attacker) =>
      attacker.again(async () => {
        const connection = (await attacker.http()).discard();
        await attacker.send(connection, bytes);
        connection.close();
      }),
  };
});
