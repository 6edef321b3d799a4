import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Packet } from 'socket.io-parser';
import { systemClock } from '../../../../src/engine/clock.js';
import { HeldBytes } from '../../../../src/engine/delivery/held-bytes.js';
import { IncompletePackets } from '../../../../src/engine/incoming/incomplete-packets.js';
import { Decoder, Encoder, noteEntered } from '../../../../src/engine/parser/parser.js';
import { Decoder as StockDecoder, Encoder as StockEncoder } from '../../../../src/engine/parser/socket-io-parser.js';
import * as v3 from '../../../../src/engine/protocol/codec-v3.js';
import * as v4 from '../../../../src/engine/protocol/codec-v4.js';
import { PacketFormatError, type ReadPacket } from '../../../../src/engine/protocol/packet.js';
import { announce } from '../../../../src/engine/session/announced.js';
import type { Session } from '../../../../src/engine/session/session.js';
import type { Target } from '../guide.js';
import { expectSame } from './same.js';

/** Separates what arrives, one after the other. A `b` begins an attachment. */
const BETWEEN = '\x1e';
/** What gjallar rejects and socket.io-parser accepts. */
const STRICTER = /too many arguments|nested too deeply|too many CONNECT packets at once/;
/** From this length on, gjallar parses the text of a packet once its attachments are there. */
const LONG = 1024;

const partsOf = (input: Buffer) =>
  input
    .toString()
    .split(BETWEEN)
    .map((part) => (part.startsWith('b') ? Buffer.from(part.slice(1)) : part));

interface AnyDecoder {
  on(event: 'decoded', listener: (packet: Packet) => void): unknown;
  add(part: string | Buffer): void;
}

/** What a decoder makes of the parts, up to the first that it rejects. */
function decoded(decoder: AnyDecoder, parts: readonly (string | Buffer)[]): { packets: Packet[]; error?: string } {
  const packets: Packet[] = [];
  decoder.on('decoded', (packet) => packets.push(packet));
  for (const part of parts) {
    try {
      decoder.add(part);
    } catch (error) {
      // A mistake of the code.
      if (error instanceof TypeError || error instanceof RangeError) throw error;
      return { packets, error: (error as Error).message };
    }
  }
  return { packets };
}

/** Reads what stock reads. */
const parser: Target = {
  seeds: [
    ...['0', '0{"token":"x"}', '0/chat,{"a":1}', '1/chat,', '2["a"]', '2["a",1,{"b":[null]}]', '2/chat,17["a","b"]'],
    ...['317["b"]', '4{"message":"no"}', '51-["a",{"_placeholder":true,"num":0}]\x1ebxyz', '2["disconnect"]', '2[1]'],
    ...['52-/chat,3["a",{"_placeholder":true,"num":1},{"_placeholder":true,"num":0}]\x1ebx\x1eby', '2["a"'],
    ...['61-3[{"_placeholder":true,"num":0}]\x1ebz', `2["a"${',0'.repeat(70)}]`, `2["a",${'['.repeat(1100)}`],
    ...['59999-["a"]', '51-["a",{"_placeholder":true,"num":3}]\x1ebx', `51-["a","${'x'.repeat(LONG)}"]\x1ebx`],
    ...[`51-/${'n'.repeat(LONG)},["a"]\x1ebx`, `51-["a","${'x'.repeat(LONG)}"]\x1e2["b"]`, 'bx', '51-["a"]\x1e2["b"]'],
    ...[`2/"[,["${'\\"['.repeat(1100)}",{}]`, `2["a",${'[]'.repeat(1100)}]`, `${'0\x1e'.repeat(101)}`],
    ...[`2/x["a",${'{"a":'.repeat(1100)}`, `2["b","${'long '.repeat(300)}"]\x1e2/n,["b","${'long '.repeat(300)}"]`],
  ],
  run(input) {
    const parts = partsOf(input);
    const ours = decoded(new Decoder(), parts);
    const stock = decoded(new StockDecoder(), parts);
    checkEncoder(stock.packets);
    if (STRICTER.test(ours.error ?? '') || parts.some((part) => /^[56]/.test(String(part)) && part.length > LONG))
      return;
    expectSame(ours.packets, stock.packets);
    expectSame(ours.error !== undefined, stock.error !== undefined);
  },
};

/** Sends what stock sends. */
function checkEncoder(packets: readonly Packet[]): void {
  const encoder = new Encoder();
  const stock = new StockEncoder();
  for (const packet of packets) {
    const expected = stock.encode(packet);
    expectSame(encoder.encode(packet), expected);
    expectSame(encoder.encode(packet), expected);
  }
}

/** A session whose packets may take little memory. */
const limitedParser: Target = {
  seeds: [
    ...parser.seeds,
    `0{"a":"${'x'.repeat(600)}"}`,
    `0{"a":[${'[],'.repeat(30)}0]}`,
    '0/n,\x1e0/n,',
    '5',
    '54-["a"]',
    `51-["${'x'.repeat(7000)}"]`,
  ],
  async run(input) {
    const limits = { maxPacketSize: 6000, maxAttachments: 3 };
    const incompletePackets = new IncompletePackets(limits, 1000, new HeldBytes(), systemClock);
    let gaveUp = 0;
    const session = { incompletePackets, maxAuthSize: 500, giveUp: () => gaveUp++ } as unknown as Session;
    let decoder!: Decoder;
    announce(session, {
      emit: () => {
        decoder = new Decoder();
        return true;
      },
    });
    noteEntered(decoder, '/n', { connected: true });
    const { error } = decoded(decoder, partsOf(input));
    await nextTurn();
    if (decoder.reconstructor === undefined && error === undefined && gaveUp === 0)
      expectSame(incompletePackets.incoming.total, 0);
    decoder.destroy();
    decoder.off('decoded', () => {});
    expectSame(incompletePackets.incoming.total, 0);
    incompletePackets.close();
  },
};

/** The packets of a payload, and whether the rest of it is no packet. @throws what is no PacketFormatError */
function readAll(packets: Iterable<ReadPacket>): { read: ReadPacket[]; isWhole: boolean } {
  const read: ReadPacket[] = [];
  try {
    for (const packet of packets) read.push(packet);
    return { read, isWhole: true };
  } catch (error) {
    if (!(error instanceof PacketFormatError)) throw error;
    return { read, isWhole: false };
  }
}

const packetsOf = (read: readonly ReadPacket[]) => read.map(([type, data]) => ({ type, data }));

/** What is read is encoded so that the same is read again. */
const payloads: Target = {
  seeds: [
    ...['', '4a', '2probe', '4a\x1e4b\x1ebAQID', '9', 'b', '2:4a', '6:4hello2:4b', '10:b4AQIDBAUG', '3:9ab', '99:4'],
    ...[Uint8Array.of(0, 2, 255, 52, 97), Uint8Array.of(1, 4, 255, 4, 1, 2, 3, 0, 1, 255, 50), Uint8Array.of(1, 255)],
    ...[Uint8Array.of(0, 1, 0, 255), Uint8Array.of(2, 1, 255, 52), Uint8Array.of(0, ...Array(11).fill(1), 255)],
  ],
  run(input) {
    const text = input.toString();
    const four = readAll(v4.readPayload(text));
    if (four.isWhole) expectSame(readAll(v4.readPayload(v4.encodePayload(packetsOf(four.read)))).read, four.read);
    for (const { read } of [readAll(v3.readPayload(text)), readAll(v3.readBytes(input))]) {
      if (read.length === 0) continue;
      for (const supportsBinary of [true, false]) {
        const again = v3.encodePayload(packetsOf(read), supportsBinary);
        const { read: second } = readAll(typeof again === 'string' ? v3.readPayload(again) : v3.readBytes(again));
        expectSame(second, read);
      }
    }
    for (const read of [() => v4.decodeText(text), () => v3.decodeText(text), () => v3.decodeBinary(input)])
      readAll(once(read));
  },
};

function* once<T>(read: () => T): Generator<T> {
  yield read();
}

export const packetTargets = { parser, limitedParser, payloads };
