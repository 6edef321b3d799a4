import fc from 'fast-check';
import { Connection, frame, opcodes, upgradeRequest } from '../../../harness/connection.js';
import { expectSame } from '../mismatch.js';
import { oneOf, upTo } from '../values.js';

/** WebSocket frames as RFC 6455 allows them and as it does not. */

const payload = oneOf(
  [4, fc.constant(Buffer.from('6'))],
  [2, fc.uint8Array({ maxLength: 130 }).map((bytes) => Buffer.from(bytes))],
  [
    1,
    fc.constantFrom(
      Buffer.from('6\xff', 'latin1'),
      Buffer.from('6\xc3', 'latin1'),
      Buffer.from('6\xed\xa0\x80', 'latin1'),
      Buffer.alloc(126),
      Buffer.alloc(70_000, '6'),
    ),
  ],
);
const one = fc.record({
  opcode: oneOf([6, fc.constantFrom(0, 1, 1, 9, 10)], fc.constantFrom(2, 3, 7, 8, 11, 15)),
  fin: oneOf([3, fc.constant(true)], fc.constant(false)),
  rsv: oneOf([12, fc.constant(0)], fc.integer({ min: 1, max: 7 })),
  masked: oneOf([20, fc.constant(true)], fc.constant(false)),
  declared: oneOf([20, fc.constant(undefined)], fc.constantFrom(200_000, 2 ** 32, Number.MAX_SAFE_INTEGER)),
  payload,
});

export const weight = 8;
export const arbitrary = upTo(8, one);

const frameOf = (payload, more) => ({
  opcode: opcodes.text,
  fin: true,
  rsv: 0,
  masked: true,
  payload: Buffer.from(payload),
  ...more,
});
const part = (payload, fin = false) => frameOf(payload, { opcode: opcodes.continuation, fin });
const ping = frameOf('x', { opcode: opcodes.ping });

/** What no client would do, by name. */
export const known = {
  'compression that was not agreed on': [frameOf(Buffer.alloc(1000), { rsv: 4 })],
  'a frame that says it is endless': [frameOf('6', { declared: Number.MAX_SAFE_INTEGER })],
  'a message of endless parts': [frameOf('6', { fin: false }), ...Array(1_000).fill(part('x'.repeat(125)))],
  'a message of empty parts': [frameOf('6', { fin: false }), ...Array(10_000).fill(part('')), part('', true), ping],
  'ten thousand pings': Array(10_000).fill(ping),
};

const OFFER = { 'Sec-WebSocket-Extensions': 'permessage-deflate; client_max_window_bits' };
const FENCE = Buffer.from('fence');

export async function play(frames, { port, maxPayload, use }) {
  const asked = new Connection(port).write(upgradeRequest('/socket.io/?EIO=4&transport=websocket', OFFER));
  const connection = use(asked, 'end');
  const response = await connection.response();
  expectSame([response?.status, response?.headers['sec-websocket-extensions']], [101, undefined]);
  connection.write(
    Buffer.concat([...frames.map((each) => frame(each.payload, each)), frame(FENCE, { opcode: opcodes.ping })]),
  );
  const want = outcomeOf(frames, maxPayload);
  let got = 'closed';
  let pongs = 0;
  if (want === 'either') connection.endHalf();
  for (let next = await connection.frame(); next && got === 'closed'; ) {
    if (next.opcode === opcodes.pong) pongs++;
    if (next.opcode === opcodes.pong && next.payload.equals(FENCE)) got = 'open';
    else next = await connection.frame();
  }
  if (want === 'either') return frames.length;
  expectSame(got, want, frames);
  if (got === 'open') expectSame(pongs, 1 + frames.filter(({ opcode }) => opcode === opcodes.ping).length, frames);
  return frames.length;
}

/** RFC 6455, sections 5.4 to 5.6 and 8.1; then Engine.IO, for which `6…` is a packet and little else here is. */
function outcomeOf(frames, maxPayload) {
  let message;
  let isText = true;
  let isInterrupted = false;
  for (const { opcode, fin, rsv, masked, declared, payload: bytes } of frames) {
    // What follows is taken for the mask, or for the rest of the payload.
    if (!masked || declared !== undefined) return declared > maxPayload && rsv === 0 && masked ? 'closed' : 'either';
    const isControl = opcode >= 8;
    if (rsv !== 0 || (opcode > 2 && opcode < 8) || opcode > 10) return 'closed';
    if (isControl && (!fin || bytes.length > 125)) return 'closed';
    if (opcode === opcodes.close) return 'closed';
    if (isControl) {
      isInterrupted = message !== undefined;
      continue;
    }
    // Behind a control frame uWebSockets.js takes the beginning of another message for a part of the first.
    if (opcode !== 0 && isInterrupted) return 'either';
    if ((opcode === 0) !== (message !== undefined)) return 'closed';
    if (opcode !== 0) isText = opcode === opcodes.text;
    message = Buffer.concat([message ?? Buffer.alloc(0), bytes]);
    if (message.length > maxPayload) return 'closed';
    if (!fin) continue;
    if (!isText || !isUtf8(message) || !'013456'.includes(message.toString('latin1', 0, 1) || 'x')) return 'closed';
    // A message before the CONNECT.
    if (message[0] === 0x34) return 'closed';
    message = undefined;
    isInterrupted = false;
  }
  return 'open';
}

function isUtf8(bytes) {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}
