import { frame, opcodes } from '../../../harness/connection.js';
import { binary, filled, text } from '../attacker/kit.js';
import { addressOf, early, event, flood, MB, member, posts, probed, socket } from './rows.js';

// Frames and packets on WebSockets, as fast as the attacker may send; and packets that are small on the wire and large
// inside, since socket.io spreads an event's arguments over the stack.

const ping = frame('', { opcode: opcodes.ping });
const zeros = ',0'.repeat(62_000);
/** As many as a limit of 100,000 bytes a second lets through. */
const fewer = ',0'.repeat(49_500);
const nested = `42["echo",${'['.repeat(40_000)}${']'.repeat(40_000)}]`;
const place = Buffer.concat([text(`451-["z",{"_placeholder":true,"num":0}${zeros}]`), binary(Buffer.of(1))]);

const plain = (attacker) => attacker.plain('/flood?name=plain');
const READERS = 100;

/** @type {import('../attacks.js').Attack[]} */
export const packetAttacks = [
  flood('arguments: event, WebSocket', socket, text(`42["z"${zeros}]`)),
  posts('arguments: event, POST', `42["z"${zeros}]`),
  flood('arguments: binary event', socket, place),
  flood('arguments: event of 49,500 arguments, WebSocket', socket, text(`42["z"${fewer}]`)),
  posts('arguments: event of 49,500 arguments, POST', `42["z"${fewer}]`),
  flood('arguments: event nested 40,000 deep', socket, text(nested)),
  flood('engine: pongs', socket, filled(text('3'))),
  flood('engine: WebSocket pings before CONNECT', early, filled(ping)),
  flood('engine: probes of an upgrade that is never finished', probed('target'), filled(text('2probe'))),
  flood('chat: messages, 3 MB/s', member(), filled(event('message', { room: 'flood', text: 'spam' })), {
    rate: 3 * MB,
  }),
  flood('chat: unknown events', member(), filled(event('z'))),
  flood('chat: echoes', member(), filled(text('421["echo","x"]'))),
  flood('plain: texts, 1 MB/s', plain, filled(text('spam')), { rate: MB }),
  flood('plain: WebSocket pings', plain, filled(ping)),
  // Members of a room that never read what is said there. Each may have MAX_BACKPRESSURE, 1 MiB, at the same time.
  flood(
    `readers: ${READERS} clients that never read`,
    member('busy'),
    event('message', { room: 'busy', text: 'x'.repeat(10_000) }),
    {
      // What the kernel holds for one reader, some megabytes, is full after half of the time.
      rate: 2 * MB,
      // MAX_BUFFERED bounds them all, and is larger here.
      bounds: { memory: READERS * 1.2 + 80 },
      prepare: async (attacker) => {
        for (let reader = 0; reader < READERS; reader++) {
          const connection = await attacker.socket({ address: addressOf(reader) });
          connection.write(event('join', 'busy')).stopReading();
        }
      },
    },
  ),
];
