import type { Namespace, Socket } from 'socket.io';
import type { NativeWebSocket } from '../../../engine/http/exchange.js';
import { Session } from '../../../engine/session/session.js';
import type { EncodedPackets } from '../../../io/rooms/encoded-packet.js';
import { packetStepsOf } from '../../../io/socket-io.private.js';
import type { Entries, StateEntry } from '../entries.js';
import type { StateChange, StateMeta } from '../state-room.js';
import { decodeValue } from '../values.js';

/** How a kind of client gets changes. Clients with the same format share a topic, and what is encoded for it. */
export interface StateFormat {
  /** Unique among the formats of a room. */
  readonly name: string;
  /** What precedes each text on a WebSocket. */
  readonly prefix: string;
  /** The messages for a chunk, in order. */
  encode(chunk: Chunk, meta: StateMeta): EncodedPackets;
}

interface Encoder {
  encode(packet: { type: number; nsp: string; data: unknown[] }): EncodedPackets;
}

/** PacketType of socket.io-parser. */
const EVENT = 2;

/** The format of socket.io-client: one event with the changes and the meta. */
export function socketIoFormat(nsp: Namespace, event: string): StateFormat {
  const encoder = (nsp.server as unknown as { encoder: Encoder }).encoder;
  const address = nsp.name === '/' ? '' : `${nsp.name},`;
  const start = `[${JSON.stringify(event)},[`;
  const encodeEvent = (changes: unknown[], meta: unknown) =>
    encoder.encode({ type: EVENT, nsp: nsp.name, data: [event, changes, meta] });
  const [sample] = encodeEvent([], {});
  // The default parser writes JSON, in which values that are encoded already have their place.
  const isJson = sample === `${EVENT}${address}${start}],{}]`;
  return {
    name: 'socket.io',
    prefix: '4',
    encode(chunk, meta) {
      if (!isJson) return encodeEvent(chunk.entries.map(pairOf), meta);
      const attachments: Buffer[] = [];
      const pairs = chunk.entries.map(({ head, value }) => {
        if (value === undefined) return `${head}]`;
        if (typeof value === 'string') return `${head},${value}]`;
        return `${head},{"_placeholder":true,"num":${attachments.push(value) - 1}}]`;
      });
      const type = attachments.length > 0 ? `${EVENT + 3}${attachments.length}-` : `${EVENT}`;
      return [`${type}${address}${start}${pairs.join(',')}],${JSON.stringify(meta)}]`, ...attachments];
    },
  };
}

function pairOf({ key, value }: Chunk['entries'][number]): StateChange {
  return value === undefined ? [key] : [key, decodeValue(value)];
}

/** The changes of one message. */
export interface Chunk {
  /** The entries of the keys, deleted ones included. */
  readonly entries: readonly StateEntry[];
  /** A reader that had everything up to the number `from` has everything up to `to` now. */
  readonly from: number;
  readonly to: number;
  /** Approximate number of bytes. */
  readonly bytes: number;
  readonly isSnapshot: boolean;
}

/** The version of a reader that has nothing, and needs a snapshot. */
export const NOTHING = -1;

/**
 * The changes after a number, up to another number, a size, or what a client accepts in one packet. A single larger change is a
 * chunk too.
 * @param from what the reader has, or NOTHING
 */
export function takeChunk(entries: Entries, from: number, upTo: number, maxBytes: number): Chunk {
  const isSnapshot = from === NOTHING || from < entries.forgottenSeq;
  const found: StateEntry[] = [];
  let bytes = 0;
  let attachments = 0;
  let to = upTo;
  for (const entry of entries.after(isSnapshot ? 0 : from)) {
    if (entry.seq > upTo) break;
    // A client that begins does not have what was deleted.
    if (isSnapshot && entry.value === undefined) continue;
    const size = entry.bytes + OVERHEAD;
    if (entry.value instanceof Buffer) attachments++;
    if (found.length > 0 && (bytes + size > maxBytes || attachments > MAX_ATTACHMENTS)) {
      to = found.at(-1)!.seq;
      break;
    }
    found.push(entry);
    bytes += size;
  }
  return { entries: found, from, to, bytes, isSnapshot };
}

/** More in one packet end the connection of a client: the limit of socket.io-parser. */
const MAX_ATTACHMENTS = 10;

/** Approximate bytes around a key and its value in a message. */
const OVERHEAD = 6;

/** A client of a room, of any kind. */
export interface StateReader {
  /** Its WebSocket, if topics reach it at present. */
  readonly topicSocket: NativeWebSocket | undefined;
  /** Bytes that wait for it. */
  readonly bufferedAmount: number;
  /** Sends messages to it alone, in order. */
  send(messages: EncodedPackets): void;
}

/** A socket of socket.io. */
export class SocketReader implements StateReader {
  constructor(private readonly socket: Socket) {}

  get topicSocket(): NativeWebSocket | undefined {
    const { session } = this;
    return session?.readyState === 'open' && !session.upgrading ? session.transport.nativeSocket : undefined;
  }

  get bufferedAmount(): number {
    const { session } = this;
    if (!session) return 0;
    // What a polling client is sent while it does not ask would be old when it does.
    const isAway = session.transport.name === 'polling' && !session.transport.writable;
    return Math.max(session.bufferedAmount, isAway ? 1 : 0);
  }

  send(messages: EncodedPackets): void {
    packetStepsOf(this.socket).client.writeToEngine(messages, {});
  }

  /** Undefined if the engine is not gjallar's: nothing is known then of what waits. */
  private get session(): Session | undefined {
    const conn = this.socket.conn as unknown;
    return conn instanceof Session ? conn : undefined;
  }
}
