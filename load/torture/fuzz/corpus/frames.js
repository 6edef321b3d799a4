import { Connection, frame, opcodes, upgradeRequest } from '../../../harness/connection.js';
import { expectSame } from '../mismatch.js';

const ENGINE = '/socket.io/?EIO=4&transport=websocket';

/** What a WebSocket does that no client would. */
export const frames = {
  'compression that was not agreed on': async ({ port }) => {
    const offer = { 'Sec-WebSocket-Extensions': 'permessage-deflate; client_max_window_bits' };
    const { connection, response } = await openFrames(port, offer);
    expectSame(response.headers['sec-websocket-extensions'], undefined);
    connection.write(frame(Buffer.alloc(1000), { rsv: 4 }));
    await expectClosed(connection);
  },
  'a frame that says it is endless': async ({ port }) => {
    const { connection } = await openFrames(port);
    connection.write(frame('6', { declared: Number.MAX_SAFE_INTEGER }));
    await expectClosed(connection);
  },
  'a message of endless parts': async ({ port }) => {
    const { connection } = await openFrames(port);
    connection.write(frame('6', { fin: false }));
    const parts = Buffer.concat(Array.from({ length: 1_000 }, () => frame('x'.repeat(125), { opcode: 0, fin: false })));
    connection.write(parts);
    await expectClosed(connection);
  },
  'a message of empty parts': async ({ port }) => {
    const { connection } = await openFrames(port);
    connection.write(frame('6', { fin: false }));
    connection.write(Buffer.concat(Array.from({ length: 10_000 }, () => frame('', { opcode: 0, fin: false }))));
    connection.write(Buffer.concat([frame('', { opcode: 0 }), frame('x', { opcode: opcodes.ping })]));
    let next = await connection.frame();
    while (next && next.opcode !== opcodes.pong) next = await connection.frame();
    expectSame(next?.opcode, opcodes.pong);
    connection.end();
  },
  'ten thousand pings': async ({ port }) => {
    const { connection } = await openFrames(port);
    connection.write(Buffer.concat(Array.from({ length: 10_000 }, () => frame('x', { opcode: opcodes.ping }))));
    let pongs = 0;
    while (pongs < 10_000) pongs += (await connection.frame()).opcode === opcodes.pong ? 1 : 0;
    connection.end();
  },
  'a key that is none': async ({ port }) => {
    for (const key of ['', 'x', 'x'.repeat(200)]) {
      const connection = new Connection(port).write(upgradeRequest(ENGINE, { 'Sec-WebSocket-Key': key }));
      const response = await connection.response();
      if (response && response.status < 400) throw new Error(`status ${response.status}`);
      connection.end();
    }
  },
  'clients that are gone before they are answered': async ({ port }) => {
    for (let round = 0; round < 50; round++) {
      const connection = new Connection(port).write(upgradeRequest(ENGINE));
      await new Promise((resolve) => setTimeout(resolve, round % 3));
      connection.vanish();
    }
  },
};

async function expectClosed(connection) {
  while (await connection.frame());
}

async function openFrames(port, headers) {
  const connection = new Connection(port).write(upgradeRequest(ENGINE, headers));
  const response = await connection.response();
  expectSame(response?.status, 101);
  return { connection, response };
}
