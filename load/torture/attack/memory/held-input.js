import { fileURLToPath } from 'node:url';
import { frame, opcodes, request, upgradeRequest } from '../../../harness/connection.js';
import { binary, text } from '../attacker/dial.js';
import { many, SEPARATOR } from '../attacker/kit.js';
import { RawConnection } from '../attacker/raw-connection.js';

// What a server has to keep because the rest of it does not come.

const ENGINE_V3 = '/socket.io/?EIO=3';
const application = fileURLToPath(new URL('own-websockets.mjs', import.meta.url));

const KB = 1000;
/** Half of it is the share of a worker. */
const BUDGET = 40_000 * KB;
const environment = { MAX_BUFFERED: String(BUDGET) };
/** Without the budget, a worker takes all that the attacker sends. */
const bounds = { memory: 70 };
/** An attacker answers pings, and otherwise waits. */
const PONG_MS = 5000;

const placeholders = (count) => Array.from({ length: count }, (_, num) => ({ _placeholder: true, num }));
const head = (data = placeholders(10)) => `4510-${JSON.stringify(['files', ...data])}`;

/** Opens connections one after the other, has each of them keep `parts`, and stays on all of them. */
const held = (name, about, open, parts, { pong = text('3'), ...options } = {}) => ({
  name: `memory: ${name}`,
  about,
  environment,
  bounds,
  ...options,
  run: async (attacker) => {
    const connections = new Set();
    const pongs = setInterval(() => {
      for (const connection of connections) if (pong) connection.write(pong);
    }, PONG_MS);
    try {
      await attacker.again(async () => {
        const connection = await open(attacker);
        connections.add(connection);
        for (const part of parts) if (!(await attacker.send(connection, part))) break;
        for (const one of connections) {
          if (!one.isClosed) continue;
          attacker.refused++;
          connections.delete(one);
        }
      });
    } finally {
      clearInterval(pongs);
      for (const connection of connections) connection.close();
    }
  },
});

const member = (attacker) => attacker.socket();
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
    { pong: undefined },
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

/** @type {import('../attacks.js').Attack[]} */
export const heldInput = [
  held('attachments that never come', 'ten are announced, three of 990 KB sent, then pongs alone', member, [
    text(head()),
    ...attachments(3, 990 * KB),
  ]),
  held('short attachments on many connections', 'ten are announced, nine of 1 KB sent', member, [
    text(head()),
    ...attachments(9, KB),
  ]),
  held('acknowledgements whose attachments never come', 'as above, with BINARY_ACK', member, [
    text(`4610-7${JSON.stringify(placeholders(10))}`),
    ...attachments(3, 990 * KB),
  ]),
  held('long texts whose attachments never come', '300,000 objects in the text of each packet', member, [
    text(head([...placeholders(10), objects])),
  ]),
  {
    name: 'memory: attachments that never come, polling',
    about: 'ten are announced, nine of 90 KB sent in one POST',
    environment,
    bounds,
    run: (attacker) => {
      const body = [head(), many(9, `b${Buffer.alloc(80 * KB).toString('base64')}`)].join(SEPARATOR);
      return attacker.again(async () => {
        const { connection, path } = await attacker.polling();
        await attacker.send(connection, request('POST', path, {}, body));
        await connection.response(Math.max(1, attacker.left));
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
  held('messages that never end', '980 KB of a frame of 990 KB', member, [half(990 * KB, 980 * KB)], {
    bounds: {},
  }),
  held(
    "messages to the application's own WebSockets",
    'frames of 100 MB, where 64 KiB are accepted',
    async (attacker) => {
      attacker.dial.opened++;
      const connection = new RawConnection(attacker.port, attacker.address);
      await connection.write(upgradeRequest('/own'));
      await connection.response();
      return connection.discard();
    },
    [half(100_000 * KB, 100 * KB), ...Array(100).fill(Buffer.alloc(100 * KB, 'x'))],
    { application, pong: undefined },
  ),
  held(
    'attachments of revision 3 that never come',
    'a binary payload of 900 KB, of which a short attachment is a part',
    async (attacker) => {
      attacker.dial.opened++;
      const connection = new RawConnection(attacker.port, attacker.address);
      const path = `${ENGINE_V3}&transport=polling`;
      await connection.write(request('GET', path));
      const { body } = await connection.response();
      const { sid } = JSON.parse(/\{.*?\}/.exec(body)[0]);
      const headers = { 'Content-Type': 'application/octet-stream' };
      await attacker.send(connection, request('POST', `${path}&sid=${sid}`, headers, payloadV3));
      await connection.response(Math.max(1, attacker.left));
      return connection;
    },
    [],
    { environment: { ...environment, ALLOW_EIO3: 'true' }, pong: undefined },
  ),
];
