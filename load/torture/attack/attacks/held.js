import { fileURLToPath } from 'node:url';
import { frame, opcodes, request } from '../../../harness/connection.js';
import { binary, filled, text } from '../attacker/kit.js';
import { plainSocket, socket } from './rows.js';

// What a server has to keep because the rest of it does not come.

const application = fileURLToPath(new URL('../app.mjs', import.meta.url));
const KB = 1000;
/** Half of it is the share of a worker, which takes all that the attacker sends without it. */
const limited = { environment: { MAX_BUFFERED: String(40_000 * KB) }, bounds: { memory: 70 } };

/** Keeps `parts` on each of many connections. */
const held = (name, about, open, parts, { pong, ...more } = limited) => ({
  name: `memory: ${name}`,
  about,
  run: (attacker) => attacker.hold(open, parts, pong),
  ...more,
});

const places = Array.from({ length: 10 }, (_, num) => ({ _placeholder: true, num }));
const FRAGMENTS = 16_000;
const part = frame('x', { opcode: opcodes.continuation, fin: false });
const half = (size, sent) => frame(Buffer.alloc(sent, 'x'), { opcode: opcodes.binary, declared: size });

/** @type {import('../attacks.js').Attack[]} */
export const heldInput = [
  held(
    'attachments that never come',
    'ten are announced, three of 990 KB sent, then pongs alone',
    socket,
    [text(`4510-${JSON.stringify(['files', ...places])}`), ...Array(3).fill(binary(Buffer.alloc(990 * KB, 'x')))],
    { ...limited, pong: text('3') },
  ),
  held(
    'bodies that never end',
    '980 KB of 990 KB',
    async (attacker) => {
      const session = await attacker.polling();
      const connection = await attacker.http();
      await attacker.send(connection, request('POST', session.path, { 'Content-Length': '990000' }));
      return connection.discard();
    },
    [Buffer.alloc(980 * KB, 'x')],
  ),
  held(
    "messages to the application's own WebSockets",
    'frames of 100 MB, where 64 KiB are accepted',
    (attacker) => plainSocket(attacker, '/own'),
    [half(100_000 * KB, 100 * KB), ...Array(100).fill(Buffer.alloc(100 * KB, 'x'))],
    { ...limited, application },
  ),
  // uWebSockets.js reports nothing of it, so no budget covers it.
  held(
    'fragments of one byte that never end',
    `${FRAGMENTS} continuation frames of one byte on each WebSocket, which stays`,
    socket,
    [frame('4', { fin: false }), filled(part, FRAGMENTS * part.length)],
    {},
  ),
];
