import fc from 'fast-check';
import { Connection, frame, opcodes, upgradeRequest } from '../../../harness/connection.js';
import { expectSame } from '../mismatch.js';
import { decoded, isRoom, lengthOf, tokenReply } from '../oracle.js';
import { hostileNames, oneOf, text, upTo } from '../values.js';

/** Plain WebSockets: addresses, tokens and texts. */

const path = oneOf(
  [6, fc.constant(undefined)],
  [
    2,
    fc
      .oneof(fc.constantFrom(...hostileNames), text)
      .map((name) => encodeURIComponent(name.slice(0, 140).toWellFormed())),
  ],
  [
    1,
    fc.constantFrom('%', '%zz', '%ff', '%00', 'api', 'api/x', 'socket.io', 'socket.io/x', 'a/b', '..', '%2e%2e/%2e%2e'),
  ],
);
const token = (tokens) => oneOf([6, fc.constant(undefined)], fc.constantFrom(...tokens.map((one) => one.token)), text);
const said = oneOf(
  [10, text.map((value) => value.toWellFormed())],
  [1, fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes))],
  [1, fc.constantFrom('x'.repeat(10_001), 'é'.repeat(10_000), '😀'.repeat(5_000), 'x'.repeat(45_000))],
);

export const weight = 4;
export const arbitrary = (tokens) => fc.record({ path, token: token(tokens), texts: upTo(20, said) });

const MAX_FRAME_BYTES = 1_048_576;
let rooms = 0;

export async function play({ path: given, token: shown, texts }, { port, user, tokens, use }) {
  // Each client has its room to itself, so that it receives its own messages alone.
  const room = given ?? `fuzz-plain-${process.pid}-${rooms++}`;
  const parameters = new URLSearchParams({ token: (shown ?? user.token).toWellFormed() });
  const connection = use(new Connection(port).write(upgradeRequest(`/${room}?${parameters}`)), 'end');
  const response = await connection.response();
  const want = admission(room, (shown ?? user.token).toWellFormed(), user, tokens);
  // An address and a token longer than a request's header may be.
  if (room.length + String(parameters).length > 3_500 && response?.status === 431) return 1;
  const got = response?.status === 101 ? 'ok' : response && JSON.parse(response.body).code;
  expectSame(got, want, { room, shown });
  if (want !== 'ok' || given !== undefined) return 1;
  await talk(connection, texts);
  return texts.length;
}

function admission(path, shown, user, tokens) {
  if (/^(socket\.io|api)(\/|$)/.test(path)) return 'NOT_FOUND';
  const room = decoded(path);
  if (!isRoom(room)) return 'BAD_ROOM';
  if (shown !== user.token) return tokenReply(shown, tokens);
  return user.may('join', room) ? 'ok' : 'ROOM_FORBIDDEN';
}

/** Says everything at once, and hears all of it up to what ends the connection. */
async function talk(connection, texts) {
  const FENCE = 'fence';
  const frames = [...texts, FENCE].map((one) =>
    frame(one, { opcode: typeof one === 'string' ? opcodes.text : opcodes.binary }),
  );
  connection.write(Buffer.concat(frames));
  const expected = [];
  // A text that is too long is refused a moment later than other things: those that come behind it may come first.
  const ends = [];
  for (const one of [...texts, FENCE]) {
    if (typeof one !== 'string') ends.push(one.length > MAX_FRAME_BYTES ? 'cut off' : 'BAD_FRAME');
    else if (Buffer.byteLength(one) > MAX_FRAME_BYTES) ends.push('cut off');
    else if (lengthOf(one) > 10_000) ends.push('BAD_TEXT');
    else if (one !== '') expected.push(one);
    if (ends.length > 0 && ends.at(-1) !== 'BAD_TEXT') break;
  }
  const heard = [];
  let ended;
  while (!ended && !(heard.at(-1) === FENCE && ends.length === 0)) {
    const received = await connection.frame();
    if (!received) ended = 'cut off';
    else if (received.opcode === opcodes.close) ended = received.payload.toString('utf8', 2);
    else if (received.opcode === opcodes.text) heard.push(received.payload.toString());
  }
  // What was said just before the end may not have come back before it.
  const isBeginning = heard.every((one, index) => one === expected[index]);
  if (ends.length === 0 || !isBeginning) expectSame(heard, expected, texts);
  if (ends.length > 0) expectSame(ends.includes(ended) ? ended : [ended, ends], ended, texts);
}
