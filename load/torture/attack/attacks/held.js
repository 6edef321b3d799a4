import { fileURLToPath } from 'node:url';
import { frame, opcodes, request } from '../../../harness/connection.js';
import { binary, filled, many, SEPARATOR, text } from '../attacker/kit.js';
import { plainSocket, raw, socket } from './rows.js';

// What a server has to keep because the rest of it does not come.

const ENGINE_V3 = '/socket.io/?EIO=3&transport=polling';
const application = fileURLToPath(new URL('../app.mjs', import.meta.url));

const KB = 1000;
/** Half of it is the share of a worker. */
const BUDGET = 40_000 * KB;
const environment = { MAX_BUFFERED: String(BUDGET) };
/** Without the budget, a worker takes all that the attacker sends. */
const bounds = { memory: 70 };

const placeholders = (count) => Array.from({ length: count }, (_, num) => ({ _placeholder: true, num }));
const head = (data = placeholders(10)) => `4510-${JSON.stringify(['files', ...data])}`;

/** Keeps `parts` on each of many connections. */
const held = (name, about, open, parts, { pong = text('3'), ...more } = {}) => ({
  name: `memory: ${name}`,
  about,
  environment,
  bounds,
  run: (attacker) => attacker.hold(open, parts, pong),
  ...more,
});

const attachments = (count, size) => Array(count).fill(binary(Buffer.alloc(size, 'x')));

/** A frame that announces more than comes. */
const half = (size, sent) => frame(Buffer.alloc(sent, 'x'), { opcode: opcodes.binary, declared: size });

/** A POST to a session of its own, without its end. */
const bodies = (name, about, headers, part) =>
  held(
    name,
    about,
    async (attacker) => {
      const session = await attacker.polling();
      const connection = await attacker.http();
      await attacker.send(connection, request('POST', session.path, headers));
      return connection.discard();
    },
    [part],
    { pong: null },
  );

/** A payload of revision 3 with a packet whose attachments are incomplete, in much other data. */
const payloadV3 = Buffer.concat(
  [
    [0, Buffer.from(head())],
    ...Array(9).fill([1, Buffer.of(4, 7)]),
    [0, Buffer.from(`2${'x'.repeat(900 * KB)}`)],
  ].flatMap(([kind, data]) => [Buffer.from([kind, ...[...String(data.length)].map(Number), 255]), data]),
);

const objects = Array(300_000).fill({});

const FRAGMENTS = 16_000;
const part = frame('x', { opcode: opcodes.continuation, fin: false });

/** @type {import('../attacks.js').Attack[]} */
export const heldInput = [
  held('attachments that never come', 'ten are announced, three of 990 KB sent, then pongs alone', socket, [
    text(head()),
    ...attachments(3, 990 * KB),
  ]),
  held('short attachments on many connections', 'ten are announced, nine of 1 KB sent', socket, [
    text(head()),
    ...attachments(9, KB),
  ]),
  held('acknowledgements whose attachments never come', 'as above, with BINARY_ACK', socket, [
    text(`4610-7${JSON.stringify(placeholders(10))}`),
    ...attachments(3, 990 * KB),
  ]),
  held('long texts whose attachments never come', '300,000 objects in the text of each packet', socket, [
    text(head([...placeholders(10), objects])),
  ]),
  {
    name: 'memory: attachments that never come, polling',
    about: 'ten are announced, nine of 80 KB sent in one POST',
    environment,
    bounds,
    run: (attacker) => {
      const body = [head(), many(9, `b${Buffer.alloc(80 * KB).toString('base64')}`)].join(SEPARATOR);
      return attacker.again(async () => {
        const { connection, path } = await attacker.polling();
        await attacker.send(connection, request('POST', path, {}, body));
        await attacker.answer(connection);
      });
    },
  },
  bodies('bodies that never end', '980 KB of 990 KB', { 'Content-Length': '990000' }, Buffer.alloc(980 * KB, 'x')),
  bodies(
    'bodies in chunks of one byte',
    '160,000 chunks without an end',
    { 'Transfer-Encoding': 'chunked' },
    Buffer.from('1\r\nx\r\n'.repeat(160_000)),
  ),
  // uWebSockets.js reports nothing of these, so no budget covers them: the bound is that of what comes in.
  held('messages that never end', '980 KB of a frame of 990 KB', socket, [half(990 * KB, 980 * KB)], {
    bounds: {},
  }),
  held(
    "messages to the application's own WebSockets",
    'frames of 100 MB, where 64 KiB are accepted',
    (attacker) => plainSocket(attacker, '/own'),
    [half(100_000 * KB, 100 * KB), ...Array(100).fill(Buffer.alloc(100 * KB, 'x'))],
    { application, pong: null },
  ),
  held(
    'attachments of revision 3 that never come',
    'a binary payload of 900 KB, of which a short attachment is a part',
    async (attacker) => {
      const connection = await raw(attacker, request('GET', ENGINE_V3));
      const { body } = await connection.response();
      const { sid } = JSON.parse(/\{.*?\}/.exec(body)[0]);
      const headers = { 'Content-Type': 'application/octet-stream' };
      await attacker.send(connection, request('POST', `${ENGINE_V3}&sid=${sid}`, headers, payloadV3));
      await attacker.answer(connection);
      return connection;
    },
    [],
    { environment: { ...environment, ALLOW_EIO3: 'true' }, pong: null },
  ),
  {
    name: 'framing: fragments of one byte that never end',
    about: `${FRAGMENTS} continuation frames of one byte on each WebSocket, which stays`,
    run: (attacker) => {
      const first = frame('4', { fin: false });
      return attacker.hold(socket, [first, filled(part, FRAGMENTS * part.length)]);
    },
  },
];
