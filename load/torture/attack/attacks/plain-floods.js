import { frame, opcodes } from '../../../harness/connection.js';
import { text } from '../attacker/dial.js';
import { filled } from '../attacker/kit.js';

// The same on plain WebSockets.

const MB = 1_000_000;

const flood = (name, packet, { rate = 10 * MB, isReading = true } = {}) => ({
  name: `plain: ${name}, ${rate / MB} MB/s${isReading ? '' : ', not reading'}`,
  about: `frames of ${packet.length} bytes on one plain WebSocket`,
  rate,
  run: (attacker) =>
    attacker.floodOn(async () => {
      const connection = await attacker.plain('/flood?name=plain');
      return isReading ? connection : connection.stopReading();
    }, filled(packet)),
});

/** @type {import('../attacks.js').Attack[]} */
export const plainFloods = [
  flood('texts', text('spam'), { rate: MB }),
  flood('texts', text('spam')),
  flood('texts', text('spam'), { isReading: false }),
  flood('texts of 30 KB', text('€'.repeat(10_000))),
  flood('empty texts', text('')),
  flood('WebSocket pings', frame(Buffer.alloc(0), { opcode: opcodes.ping })),
  flood('WebSocket pings of 125 bytes', frame(Buffer.alloc(125), { opcode: opcodes.ping }), { isReading: false }),
  flood('WebSocket pongs', frame(Buffer.alloc(0), { opcode: opcodes.pong })),
];
