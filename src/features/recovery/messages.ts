import { DefaultDeserializer, serialize } from 'node:v8';
import { MalformedMessage } from '../../base/errors.js';
import { sendable } from '../../base/sendable.js';
import type { EncodedPackets } from '../../io/rooms/index.js';
import type { Codec, LinkAnswer, LinkQuestion } from '../hub-link.js';
import type { RemovalTarget, RoomsFloor } from './keeper/memory.js';
import type { KeptPacket } from './keeper/stream.js';
import type { RecoveryCounts, RecoveryOutcome } from './offset.js';

/** How long changes wait for further ones, in ms. If the worker is killed in that time, they are lost. */
export const WINDOW_MS = 10;

/**
 * How long a session may be served by a worker that hangs, in ms, while its client returns to another one. Within this time the
 * worker is killed.
 */
export const MAX_HANG_MS = 13_000;

/** A session, as its worker describes it to the keeper. */
export interface SessionState {
  readonly pid: string;
  readonly sid: string;
  /** Their names, see `base/names.ts`: a keeper knows no other form, nor that of packets' rooms. */
  readonly rooms: readonly string[];
  /** As the link to the keeper packs it, see {@link DataPacker}. */
  readonly data: unknown;
  /** The name of the worker that serves it, or has served it last. */
  readonly worker: string;
  /** The offset with which the client was recovered on that worker. */
  readonly resumedFrom: string | undefined;
  /** What the client itself names until it receives something, unless that is `resumedFrom`. */
  readonly named?: string | undefined;
  /**
   * The workers that have handed over its connection since: a version vector. Each with what {@link Offset.direct} was when
   * it had sent something to this client alone last, or 0.
   */
  readonly handedOver?: string | undefined;
  /** The client has received everything that it was sent before this time. */
  readonly aliveAt: number;
  /** From which packets on its rooms are its own. */
  readonly floors: readonly RoomsFloor[] | undefined;
  /** What the client had received, beyond its offset, before its worker had: a {@link VersionVector}, as all of these. */
  readonly alsoReceived: string | undefined;
  /** The same of what it was sent when it was recovered. It has that if it names a later offset of this worker. */
  readonly replayed?: Replayed | undefined;
  /** Whether other sockets may be in its own room. */
  readonly isShared: boolean;
  /** The user, the address and the connection of the client, by which the operator may name it. */
  readonly user: string | undefined;
  readonly address: string | undefined;
  readonly connection: string | undefined;
}

/** What a client was sent because it had missed it, and its worker had not received. */
export interface Replayed {
  readonly numbers: string;
  /** How many packets its worker had sent to single sockets by then. */
  readonly direct: number;
}

/** What has changed of a session since its worker described it. */
export interface SessionChange extends Partial<Pick<SessionState, 'data' | 'user'>> {
  readonly left: readonly string[];
  /** The rooms that were joined. */
  readonly joined: readonly RoomsFloor[];
}

/** The packets that were sent to one socket alone, as a keeper gives them to another one. */
export interface StreamState {
  readonly floor: number;
  readonly floorAt: number;
  readonly last: number;
  /** By how much the clock of its sender is behind that of the keeper, in ms. */
  readonly lagMs: number;
  readonly packets: readonly KeptPacket[];
}

/** A session of a client that is away, as a keeper gives it to another one. */
export interface AwayState {
  readonly session: SessionState;
  /** For how long its client has been away, in ms. */
  readonly awayMs: number;
  readonly direct: StreamState;
}

export interface KeeperBounds {
  /** How many bytes of packets, and of disconnected sessions, a machine keeps. The oldest are dropped first. */
  readonly maxBytes: number;
  /** How many disconnected sessions a machine keeps for each namespace. The oldest are dropped first. */
  readonly maxSessions: number;
  /** The rooms of a session that can be recovered. */
  readonly maxRooms: number;
  /** The packets that a client may have missed, and their bytes. */
  readonly maxMissed: number;
  readonly maxMissedBytes: number;
  /** The packets that all clients of a worker together may be sent in ten seconds because they had missed them, and their bytes. */
  readonly maxReplayed: number;
  readonly maxReplayedBytes: number;
  /** By how much times of other machines may be wrong, in ms. */
  readonly slackMs: number;
  /** How often expired packets and sessions are dropped, in ms. */
  readonly sweepMs: number;
}

/** What is kept of a namespace, and for how long. */
export interface NamespaceOptions extends KeeperBounds {
  readonly durationMs: number;
  /** A client may have received nothing for so long before it counts as gone. */
  readonly silenceMs: number;
}

/** A packet that a client lacks. One to its socket alone has no sender. */
export type Missed = readonly [sender: string | undefined, number: number, at: number, packets: EncodedPackets];

export function bytesOfMissed(missed: readonly Missed[]): number {
  let bytes = 0;
  for (const [, , , packets] of missed) for (const part of packets) bytes += part.length;
  return bytes;
}

/** What a client lacks, as far as one keeper knows; or why that is not known. */
export type Collected =
  | { readonly outcome: RecoveryOutcome }
  | {
      readonly outcome: undefined;
      readonly packets: readonly Missed[];
      /** Up to which packet of each sender that is. */
      readonly upTo: string;
    };

/** What is asked of all keepers about a client that returns. */
export interface MissedQuestion {
  /** What the client has received. */
  readonly offset: string;
  /** When that was sent, as far as that is known. */
  readonly at: number;
  /** What the worker that asks has received. */
  readonly received: string;
  /** Since when that worker receives broadcasts. */
  readonly receivesSince: number;
  readonly session: Pick<SessionState, 'rooms' | 'aliveAt' | 'floors' | 'alsoReceived'>;
}

/** The answer to a worker whose client returns. */
export type Found =
  | { readonly outcome: RecoveryOutcome }
  | {
      readonly outcome: undefined;
      readonly session: SessionState;
      /** The offset from which it is recovered. */
      readonly resumedFrom: string;
      /** In order. */
      readonly missed: readonly Missed[];
      readonly upTo: string;
    };

/** The session of a client that can no longer be recovered. */
// biome-ignore lint/suspicious/noExplicitAny: socket.io's own default
export interface ExpiredSession<Data = any> {
  /** The id that its socket had. */
  readonly id: string;
  readonly rooms: readonly string[];
  /** `socket.data`. */
  readonly data: Data | undefined;
}

export type ExpiryListener = (session: ExpiredSession) => void;

/** What a keeper keeps. */
export interface KeeperFigures {
  /** Approximate memory of packets and of disconnected sessions, in bytes. */
  readonly bytes: { readonly packets: number; readonly sessions: number };
  readonly packets: number;
  readonly sessions: number;
  /** Packets and sessions dropped to stay within the bounds. */
  readonly dropped: { readonly packets: number; readonly sessions: number };
}

/** The same of a worker, and how recoveries have ended since its start. */
export interface RecoveryState extends KeeperFigures {
  readonly outcomes: RecoveryCounts;
}

const none = { packets: 0, sessions: 0 };
/** Of a keeper that has said nothing yet. */
export const noFigures: KeeperFigures = { ...none, bytes: none, dropped: none };

/** From a worker to the keeper. A namespace is named together with its Socket.IO server. */
export type ToKeeper =
  /** The worker has the namespace. What it had sent before, the keeper has not. */
  | { type: 'open'; namespace: string; name: string; sent: number; isAgain: boolean; options: NamespaceOptions }
  /** The server has an engine now, or another one. */
  | { type: 'options'; namespace: string; options: NamespaceOptions }
  | { type: 'close'; namespace: string }
  | { type: 'packet'; namespace: string; packet: KeptPacket }
  /** A message that nothing numbers: of an emitter, or of a server without recovery. */
  | { type: 'unnumbered'; namespace: string; at: number; rooms: readonly string[]; except: readonly string[] }
  /** A connected session. Of the packets to it alone, those up to `floor` are not kept. */
  | { type: 'live'; namespace: string; session: SessionState; floor: number; floorAt: number }
  | { type: 'changed'; namespace: string; pid: string; change: SessionChange }
  /** These sessions have changes that are not posted yet. If their worker is killed, the keeper does not know their rooms. */
  | { type: 'stale'; namespace: string; pids: readonly string[] }
  | { type: 'direct'; namespace: string; pid: string; number: number; at: number; packets: EncodedPackets }
  /** Another socket has joined the own room of the session. */
  | { type: 'shared'; namespace: string; pid: string }
  /** The session has ended, and does not come back. */
  | { type: 'gone'; namespace: string; pid: string }
  /** The client is disconnected, and may return. */
  | { type: 'away'; namespace: string; pid: string }
  | ({
      type: 'find';
      namespace: string;
      pid: string;
      offset: string;
      received: string;
      receivesSince: number;
      /** Whether messages to its id already come to the worker that asks, too. */
      isAnnounced?: boolean;
      /** Whether the client is about to move. If it cannot, it returns by itself, and needs the session then. */
      isMoving?: boolean;
    } & LinkQuestion)
  /** The answer to `taking`: all workers know that messages to the id of the socket are for this one, too. */
  | ({ type: 'announced'; namespace: string } & LinkAnswer)
  /** The client of a session that was found gets a new one. */
  | { type: 'failed'; namespace: string; pid: string }
  /** The bus of the worker is down, so that what it sends may be lost, or up again. */
  | { type: 'bus'; namespace: string; isUp: boolean }
  /** The worker lacks what another one had sent last. */
  | { type: 'tail'; namespace: string; sender: string; after: number }
  /** A socket has joined the room of a socket elsewhere. */
  | { type: 'joined'; namespace: string; room: string }
  | ({ type: 'remove'; target: RemovalTarget; server: string } & LinkQuestion)
  /** The worker wants to hear of sessions that expire. */
  | { type: 'listen'; namespace: string; isListening: boolean }
  | ({ type: 'sync' } & LinkQuestion)
  /** The answer to `post`. */
  | ({ type: 'posted' } & LinkAnswer);

/** The same of one namespace, without its name. */
export type Posted<Message = ToKeeper> = Message extends { namespace: string } ? Omit<Message, 'namespace'> : never;

/** From the keeper to a worker. */
export type ToWorker =
  | ({ type: 'found'; namespace: string; found: Found } & LinkAnswer)
  /** The session was found. What its client lacks is gathered once the worker has answered. */
  | ({ type: 'taking'; namespace: string; pid: string; sid: string } & LinkQuestion)
  /** The client of this session returns elsewhere. */
  | { type: 'end'; namespace: string; pid: string }
  | { type: 'joined'; namespace: string; room: string }
  /** A worker is gone, after this number of broadcasts. */
  | { type: 'ended'; namespace: string; sender: string; last: number }
  /** Another keeper was out of reach for up to `ms`, and is here again. Broadcasts of its workers may be lost. */
  | { type: 'lost'; namespace: string; ms: number }
  /** What it had sent last. */
  | { type: 'tail'; namespace: string; sender: string; packets: readonly KeptPacket[] }
  /** Asks the worker to post what it holds back. */
  | ({ type: 'post' } & LinkQuestion)
  | ({ type: 'removed'; ids: readonly string[] } & LinkAnswer)
  | { type: 'expired'; namespace: string; session: ExpiredSession }
  | { type: 'figures'; figures: KeeperFigures }
  | ({ type: 'synced' } & LinkAnswer);

/** From a keeper to that of another machine. */
export type ToKeeperElsewhere =
  /** Workers whose packets the keeper has. */
  | { type: 'senders'; namespace: string; names: readonly string[] }
  | ({ type: 'seek'; namespace: string; pid: string } & LinkQuestion)
  | ({ type: 'sought'; namespace: string; away: AwayState | undefined } & LinkAnswer)
  | ({ type: 'collect'; namespace: string; question: MissedQuestion } & LinkQuestion)
  /** With the keepers that this one knows, besides the one that asks. */
  | ({ type: 'collected'; collected: Collected; keepers: readonly string[] } & LinkAnswer)
  | { type: 'joined'; namespace: string; room: string }
  /** What a keeper has that ends. The other one goes on with it. */
  | {
      type: 'inherit';
      namespace: string;
      options: NamespaceOptions;
      streams: readonly (StreamState & { sender: string })[];
      away: readonly AwayState[];
    };

/** The same on its way. The other keeper moves all times in it by what their clocks differ. */
export type FromKeeperElsewhere = ToKeeperElsewhere & { readonly sentAt: number };

/** How `socket.data` travels to a keeper and back. */
export interface DataPacker {
  pack(data: unknown): unknown;
  unpack(packed: unknown): unknown;
}

/** As text, so that its size is known, and what has not changed is not sent again. */
export const textPacker: DataPacker = {
  pack: (data) => bytesOfData(data).toString('latin1'),
  unpack: (packed) => (packed === undefined ? undefined : read(Buffer.from(packed as string, 'latin1'))),
};

/** Data of applications that cannot be cloned, such as functions, is left out as in JSON. */
function bytesOfData(data: unknown): Buffer {
  try {
    return serialize(data);
  } catch {
    return serialize(JSON.parse(JSON.stringify(sendable(data, 'socket.data')) ?? '{}'));
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
  try {
    const deserializer = new CopyingDeserializer(bytes);
    deserializer.readHeader();
    return deserializer.readValue();
  } catch {
    throw new MalformedMessage('a message of recovery cannot be decoded');
  }
}

function messagesIn<Message extends { type: string }>(bytes: Uint8Array): Message[] {
  const messages = read(bytes);
  const isOne = (one: unknown) => typeof (one as { type?: unknown } | null)?.type === 'string';
  if (!Array.isArray(messages) || !messages.every(isOne)) {
    throw new MalformedMessage('a message of recovery has the wrong fields');
  }
  return messages as Message[];
}

/** Several messages travel together. */
export const codec = <Out, In extends { type: string }>(): Codec<Out, In> => ({
  encode: (messages) => [serialize(messages)],
  decode: messagesIn<In>,
});
