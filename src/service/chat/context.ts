import type { TopKeys } from '../../engine/top-keys.js';
import type { Conversations } from '../../features/history/index.js';
import type { Presence } from '../../features/presence/index.js';
import type { MachineWorker } from '../../host/index.js';
import type { Engine } from '../../index.js';
import type { Accounts } from '../accounts/identity.js';
import type { RevokedTokens } from '../accounts/revocations.js';
import type { Expiry } from './expiry.js';
import type { ChatCounters } from './metrics.js';
import type { ChatServer, ChatSocket, NamesByUser } from './protocol.js';
import type { StateService } from './state/service.js';

/** The parts that the handlers of client events use. */
export interface ChatContext {
  readonly io: ChatServer;
  /** The users of the rooms of Socket.IO that are chat rooms, with their display names. */
  readonly presence: Presence<string>;
  /** The stored messages; undefined if the server keeps no history. */
  readonly conversations: Conversations | undefined;
  readonly worker: Pick<MachineWorker, 'mesh' | 'log' | 'reports'>;
  readonly engine: Engine;
  /** Verifies tokens; undefined if users choose their own names. */
  readonly accounts: Accounts | undefined;
  readonly expiry: Expiry;
  /** The revoked tokens; undefined if the server revokes none. */
  readonly revoked: RevokedTokens | undefined;
  /** How many events of a connection have no reply yet. */
  readonly inFlight: Map<object, number>;
  readonly states: StateService;
  readonly counters: ChatCounters;
  /** The users that send the most events and messages. */
  readonly talkers: TopKeys;
}

const ROOM = 'room:';

/** The Socket.IO room that all sockets of a user are in. */
export function ioRoomOfUser(name: string): string {
  return `user:${name}`;
}

/** The Socket.IO room of a chat room. It has a prefix because socket ids are rooms too. */
export function ioRoomOf(room: string): string {
  return ROOM + room;
}

/** The chat room of a Socket.IO room; undefined if that is not a chat room. */
export function chatRoomOf(ioRoom: string): string | undefined {
  return ioRoom.startsWith(ROOM) ? ioRoom.slice(ROOM.length) : undefined;
}

/** The display names of users as a client receives them; undefined if none has one. */
export function namesOf(...users: ReadonlyMap<string, string | undefined>[]): NamesByUser | undefined {
  const named = users.flatMap((each) => [...each]).filter(([, displayName]) => displayName !== undefined);
  return named.length > 0 ? (Object.fromEntries(named) as NamesByUser) : undefined;
}

/** The chat rooms that a socket is in. */
export function roomsOf(socket: ChatSocket): string[] {
  return [...socket.rooms].flatMap((ioRoom) => chatRoomOf(ioRoom) ?? []);
}
