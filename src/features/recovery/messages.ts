import { DefaultDeserializer, serialize } from 'node:v8';
import type { Namespace } from 'socket.io';
import { MalformedMessage } from '../../base/errors.js';
import { sendable } from '../../base/sendable.js';
import { PacketType } from '../../engine/parser/socket-io-parser.js';
import { decodePackets, type EncodedPackets } from '../../io/rooms/index.js';
import { decoderOf } from '../../io/socket-io.private.js';
import type { RoomsFloor } from './kept/memory.js';
import type { KeptPacket, StreamState } from './kept/stream.js';
import { isWorkerName } from './offset.js';
import type { ForeignMessage } from './returns/foreign.js';

/** Adds offsets to encoded packets, as one more argument. */
export class OffsetWriter {
  private readonly isText: boolean;

  constructor(private readonly nsp: Namespace) {
    const [probe] = this.encode(['x']);
    this.isText = typeof probe === 'string' && probe.endsWith('["x"]');
  }

  encode(data: unknown[]): EncodedPackets {
    return this.nsp.server.encoder.encode({ type: PacketType.EVENT, nsp: this.nsp.name, data } as never) as never;
  }

  /** The packet with the offset. The default format needs no decoding: the arguments are a JSON array at its end. */
  withOffset(packets: EncodedPackets, offset: string): EncodedPackets {
    const [text, ...attachments] = packets;
    if (this.isText && typeof text === 'string') return [`${text.slice(0, -1)},"${offset}"]`, ...attachments];
    return this.encode([...this.decode(packets), offset]);
  }

  decode(packets: EncodedPackets): unknown[] {
    return decodePackets(packets, decoderOf(this.nsp.server));
  }
}

/** A disconnected session as workers exchange it. */
export interface SessionState {
  pid: string;
  sid: string;
  rooms: readonly string[];
  data: unknown;
  worker: string;
  resumedFrom: string | undefined;
  /** Other versions may leave it out. */
  recoveries?: number | undefined;
  disconnectedAt: number;
  aliveAt: number;
  /** Older versions leave it out, and pass it on. */
  floors?: readonly RoomsFloor[] | undefined;
  /** Other versions may leave these three out. */
  has?: string | undefined;
  address?: string | undefined;
  connection?: string | undefined;
  direct: Omit<StreamState, 'sender'>;
}

/** A connected session, as its worker describes it to the worker that keeps a copy. */
export interface LiveState {
  pid: string;
  sid: string;
  rooms: readonly string[];
  data: unknown;
  resumedFrom: string | undefined;
  recoveries?: number | undefined;
  aliveAt: number;
  floors?: readonly RoomsFloor[] | undefined;
  has?: string | undefined;
  address?: string | undefined;
  connection?: string | undefined;
}

/** A connected session with the end of what is not kept of its packets. */
export interface CopiedState extends LiveState {
  floor: number;
  floorAt: number;
}

/** The messages of recovery between workers, all about one namespace. */
export type RecoveryMessage = { nsp: string } & (
  | { type: 'session'; session: SessionState }
  /** A worker recovers the session. Its buddy keeps a copy until it has heard how that ended. */
  | { type: 'taken'; pid: string; recoveries?: number; isBuddy?: boolean }
  /** A socket of the sender has joined the room of a socket elsewhere. */
  | { type: 'joined'; room: string }
  /**
   * Which worker has this session? With `isLeaving`, the sender has none of its own any more, and keeps those of others
   * only until it is answered.
   */
  | { type: 'find'; pid: string; request: number; isLeaving?: boolean }
  | { type: 'found'; request: number; isHere: boolean }
  /** Requests everything that a worker keeps; with `isOwn`, only what it has sent lately. */
  | { type: 'ask'; isOwn?: boolean }
  /**
   * The answer to `ask`. `isAbsent` means that the sender does not have the namespace. Versions that do not know the
   * messages in `foreign` know everything from `since` on, others from `fullSince` on.
   */
  | {
      type: 'history';
      since: number;
      streams: StreamState[];
      sessions: SessionState[];
      foreign?: readonly ForeignMessage[];
      fullSince?: number;
      isLast: boolean;
      isOwn?: boolean;
      isAbsent?: boolean;
    }
  /** The last packet that a worker has received from one that is gone. */
  | { type: 'tail'; sender: string; last: number }
  | { type: 'packets'; sender: string; packets: readonly KeptPacket[] }
  /** Changes of the sender's connected sessions. `isFirst` replaces all that was known. */
  | {
      type: 'live';
      worker: string;
      isFirst: boolean;
      sessions: CopiedState[];
      direct: [pid: string, number: number, at: number, packets: EncodedPackets][];
      gone: string[];
    }
);

/** A question to all workers of all machines. Each answers; to one that is for another worker, with an empty text. */
export interface LoanQuestion {
  /** The worker whose history is wanted; undefined to ask for the heads of all. */
  readonly of?: string;
  /** Names the loan, of which each question gets the next part. */
  readonly loan?: string;
  /** What the worker must have received before its history is complete. */
  readonly heads?: readonly (readonly [worker: string, last: number])[];
}

/** Data of applications that cannot be cloned, such as functions, is left out as in JSON. */
export function encodeMessage(message: RecoveryMessage): Buffer {
  try {
    return serialize(message);
  } catch {
    if (message.type === 'session') return serialize({ ...message, session: portable(message.session) });
    if (message.type !== 'live' && message.type !== 'history') return serialize(message);
    return serialize({ ...message, sessions: (message.sessions as SessionState[]).map(portable) });
  }
}

function portable<T extends { data: unknown }>(state: T): T {
  try {
    serialize(state.data);
    return state;
  } catch {
    return { ...state, data: JSON.parse(JSON.stringify(sendable(state.data, 'socket.data')) ?? '{}') as unknown };
  }
}

/** Bytes in a message get memory of their own, because what is kept would hold the whole message. */
class CopyingDeserializer extends DefaultDeserializer {
  _readHostObject(): object {
    const read = Object.getPrototypeOf(CopyingDeserializer.prototype) as { _readHostObject(): ArrayBufferView };
    const view = read._readHostObject.call(this);
    const own = view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength) as ArrayBuffer;
    return Buffer.isBuffer(view) ? Buffer.from(own) : new (view.constructor as typeof DataView)(own);
  }
}

function read(bytes: Uint8Array): unknown {
  const deserializer = new CopyingDeserializer(bytes);
  deserializer.readHeader();
  return deserializer.readValue();
}

/** @throws MalformedMessage if the bytes are not a message */
export function decodeMessage(bytes: Uint8Array): RecoveryMessage {
  let message: Fields;
  try {
    message = read(bytes) as Fields;
  } catch {
    throw new MalformedMessage('a message of recovery cannot be decoded');
  }
  const type = typeof message === 'object' && message !== null ? (message.type as RecoveryMessage['type']) : undefined;
  if (!type || !Object.hasOwn(checks, type) || typeof message.nsp !== 'string' || !checks[type](message)) {
    throw new MalformedMessage('a message of recovery has the wrong fields');
  }
  return message as unknown as RecoveryMessage;
}

type Fields = Record<string, unknown>;
type Check = (value: Fields) => boolean;

const isText = (value: unknown) => typeof value === 'string';
/** Some applications use numbers for rooms. */
const isRoom = (value: unknown) => typeof value === 'string' || typeof value === 'number';
const isNumber = (value: unknown) => typeof value === 'number' && value >= 0;
const isOptionalText = (value: unknown) => value === undefined || isText(value);
const isCount = (value: unknown) => value === undefined || isNumber(value);
const isList = (value: unknown, isOne: (one: never) => boolean) => Array.isArray(value) && value.every(isOne as never);
const isObject = (value: unknown) => typeof value === 'object' && value !== null;

const isEncoded = (value: unknown) => isList(value, (one) => isText(one) || (one as unknown) instanceof Uint8Array);

const isPacket = (value: Fields) =>
  isObject(value) &&
  isNumber(value.number) &&
  isNumber(value.at) &&
  isList(value.rooms, isText) &&
  isList(value.except, isText) &&
  isEncoded(value.packets);

const isStream = (value: Fields) =>
  isObject(value) &&
  [value.floor, value.floorAt, value.last, value.lastAt].every(isNumber) &&
  isList(value.packets, isPacket);

const isForeign = (value: Fields) =>
  isObject(value) && isNumber(value.at) && isList(value.rooms, isText) && isList(value.except, isText);

const isFloor = (value: Fields) =>
  isObject(value) &&
  isNumber(value.at) &&
  isText(value.numbers) &&
  (value.rooms === undefined || isList(value.rooms, isText));

const isLive = (value: Fields) =>
  isObject(value) &&
  isText(value.pid) &&
  isText(value.sid) &&
  isList(value.rooms, isRoom) &&
  (value.resumedFrom === undefined || isText(value.resumedFrom)) &&
  isCount(value.recoveries) &&
  [value.address, value.connection, value.has].every(isOptionalText) &&
  isNumber(value.aliveAt) &&
  (value.floors === undefined || isList(value.floors, isFloor));

const isSession = (value: Fields) =>
  isLive(value) && isWorkerName(value.worker) && isNumber(value.disconnectedAt) && isStream(value.direct as Fields);

const checks: Record<RecoveryMessage['type'], Check> = {
  session: ({ session }) => isSession(session as Fields),
  taken: ({ pid, recoveries }) => isText(pid) && isCount(recoveries),
  joined: ({ room }) => isText(room),
  find: ({ pid, request }) => isText(pid) && isNumber(request),
  found: ({ request, isHere }) => isNumber(request) && typeof isHere === 'boolean',
  ask: () => true,
  history: ({ since, streams, sessions, foreign, fullSince }) =>
    isNumber(since) &&
    isCount(fullSince) &&
    (foreign === undefined || isList(foreign, isForeign)) &&
    isList(streams, (one: Fields) => isStream(one) && isWorkerName(one.sender)) &&
    isList(sessions, isSession),
  tail: ({ sender, last }) => isWorkerName(sender) && isNumber(last),
  packets: ({ sender, packets }) => isWorkerName(sender) && isList(packets, isPacket),
  live: ({ worker, sessions, direct, gone }) =>
    isWorkerName(worker) &&
    isList(sessions, (one: Fields) => isLive(one) && isNumber(one.floor) && isNumber(one.floorAt)) &&
    isList(
      direct,
      (one) => Array.isArray(one) && isText(one[0]) && isNumber(one[1]) && isNumber(one[2]) && isEncoded(one[3]),
    ) &&
    isList(gone, isText),
};
