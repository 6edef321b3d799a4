import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Accounts, Identity } from '../accounts/identity.js';
import { errorCodes, GjallarError } from '../errors.js';
import type { ArchiveReader } from '../history/archive/archive.js';
import type { HistoryStore } from '../history/store.js';
import { Answering } from './answering.js';
import { type ChatContext, type ChatServer, type ChatSocket, ioRoomOf, ioRoomOfUser, roomsOf } from './context.js';
import { Conversations, type ReadCost } from './conversations.js';
import { ChatCounters } from './counters.js';
import { type Handler, handlers } from './handlers/index.js';
import { Expiry, identify, identifyByToken } from './identify.js';
import { type PlainDelivery, type PlainMember, PlainMembers } from './plain-members.js';
import { asChatMessage, deliverHere, type Said } from './post.js';
import { PresenceTeller } from './presence.js';
import type { Failure } from './protocol.js';
import { type PublishReply, publish, type RoomPage, readRoomPage } from './publish.js';
import { Roster } from './roster.js';
import { type ChatStats, readStats } from './stats.js';

export interface Chat {
  /** Says something in a room without being in it; see {@link publish}. */
  publish(
    caller: Identity | undefined,
    room: string,
    readInput: () => Promise<unknown>,
    key: string | undefined,
  ): Promise<PublishReply>;
  /** Reads a page of a room's messages; see {@link readRoomPage}. */
  read(caller: Identity | undefined, room: string, query: unknown): Promise<RoomPage>;
  /** Tells who has a token; undefined where names are free. */
  readonly identify: ((token: unknown) => Promise<Identity>) | undefined;
  /** Whether an event of the client with this connection has not been answered yet. */
  isAnswering(conn: object): boolean;
  /** Lets a member in who does not speak Socket.IO. @throws GjallarError BAD_ROOM, BAD_NAME */
  admit(room: string, query: Readonly<Record<string, string>>): Promise<PlainMember>;
  readonly counters: ChatCounters;
  /** Counts rooms and members over all workers and machines; see {@link readStats}. */
  stats(limit: number): Promise<ChatStats>;
  /** Tells the other workers that this one goes. */
  close(): void;
}

export interface ChatOptions {
  /** This worker's id. */
  workerId: number;
  log: Logger;
  /** Keeps the messages; without it none are kept. */
  history?: HistoryStore;
  /** Has the messages that the history no longer has. */
  archive?: ArchiveReader;
  /** Reaches the members who do not speak Socket.IO. */
  plain?: PlainDelivery;
  /** Tells who somebody is by their token; without it names are free. */
  accounts?: Accounts;
  /** Whether the client with this connection has sent more than it may, so that its events are refused. */
  isOverLimit?: (conn: unknown) => boolean;
  /** Told the cost of each read of the history, with the connection that asked for it or another sign of the client. */
  onHistoryRead?: (client: unknown, cost: ReadCost) => void;
  /** Whether members who are behind do without changes of presence. @default false */
  volatilePresence?: boolean;
}

/** Puts the chat on a Socket.IO server, namespace `/`. */
export function startChat(
  io: ChatServer,
  {
    workerId,
    log,
    history,
    archive,
    plain,
    accounts,
    isOverLimit,
    onHistoryRead,
    volatilePresence = false,
  }: ChatOptions,
): Chat {
  const counters = new ChatCounters();
  const roster = new Roster(randomUUID(), {
    tell: (message) => io.serverSideEmit('roster', message),
    changed: (room) => presence.note(room),
    // What the one that has gone posted last may not have been told to everybody.
    gone: () => conversations?.verify(),
    totals: () => ({
      clients: io.of('/').sockets.size + plainMembers.size,
      messages: counters.roomMessages + counters.directMessages,
    }),
  });
  const presence: PresenceTeller = new PresenceTeller(
    roster,
    (told) => (volatilePresence ? io.local.volatile : io.local).to(ioRoomOf(told.room)).emit('presence', told),
    (room) => hasRoom(ioRoomOf(room)),
  );
  const hasRoom = (ioRoom: string) => io.of('/').adapter.rooms.has(ioRoom);
  const conversations =
    history &&
    new Conversations(history, archive, {
      announceMessages: (messages) => io.serverSideEmit('news', messages),
      announcePositions: (positions) => io.serverSideEmit('heads', positions),
      deliver: (conversation, message) => deliverHere(context, conversation, message),
      hasRoom: (room) => hasRoom(ioRoomOf(room)) || plainMembers.has(room),
      hasUser: (name) => hasRoom(ioRoomOfUser(name)),
      onRead: (client, cost) => onHistoryRead?.(client, cost),
    });
  const plainMembers = new PlainMembers(plain);
  const deliver = (room: string, message: Said) => {
    io.local.to(ioRoomOf(room)).emit('message', asChatMessage(room, message));
    plainMembers.deliver(room, message.text);
  };
  const context: ChatContext = {
    io,
    roster,
    presence,
    conversations,
    workerId,
    deliver,
    accounts,
    expiry: new Expiry(),
    answering: new Answering(),
    counters,
  };

  io.on('roster', (message) => roster.receive(message));
  io.on('news', (messages) => conversations?.receive(messages));
  io.on('said', (room, messages) => {
    for (const message of messages) deliver(room, message);
  });
  io.on('heads', (positions) => conversations?.receivePositions(positions));
  io.use((socket, next) => void admit(accounts, socket, next));
  io.on('connection', (socket) => {
    void socket.join(ioRoomOfUser(socket.data.name));
    context.expiry.set(socket, expiries.get(socket));
    if (isOverLimit) socket.use((event, next) => (isOverLimit(socket.conn) ? refuse(event) : next()));
    for (const [event, handler] of Object.entries(handlers)) {
      socket.on(event as keyof typeof handlers, (input: unknown, reply?: unknown) => {
        void answer(handler, context, socket, input, reply, log);
      });
    }
    socket.on('echo', (value, reply) => {
      // Without a value the acknowledgement comes first, and must not be sent on: socket.io would keep it.
      if (typeof value === 'function') value();
      else if (typeof reply === 'function') reply(value);
      else socket.emit('echo', value);
    });
    socket.on('disconnecting', () => {
      context.expiry.forget(socket);
      for (const room of roomsOf(socket)) roster.remove(room, socket.data.name);
    });
  });
  return {
    admit: async (room, query) => plainMembers.admit(context, room, query),
    publish: (...what) => publish(context, ...what),
    read: (caller, room, query) => readRoomPage(context, caller, room, query),
    counters,
    stats: (limit) => readStats(roster, limit),
    identify: accounts && ((token) => identifyByToken(accounts, token)),
    isAnswering: (conn) => context.answering.has(conn),
    close: () => {
      conversations?.close();
      presence.close();
      roster.close();
    },
  };
}

/** When the tokens end of those who are connecting. */
const expiries = new WeakMap<ChatSocket, number | undefined>();

/** The connections of those who are being let in. */
const arriving = new WeakSet<ChatSocket['conn']>();

/** The user's name comes from `auth.token`, or, where none is asked for, from `auth.name`; who gives none gets one. */
async function admit(accounts: Accounts | undefined, socket: ChatSocket, next: (error?: Error) => void): Promise<void> {
  const { conn } = socket;
  // socket.io refuses a second CONNECT only once the first is through.
  if (arriving.has(conn)) return void conn.close();
  arriving.add(conn);
  try {
    const { name, grant, expires } = await identify(accounts, socket.handshake.auth, socket.id);
    Object.assign(socket.data, { name, grant });
    expiries.set(socket, expires);
    next();
  } catch (error) {
    // socket.io sends a CONNECT_ERROR with the error's message and `data`.
    next(error instanceof GjallarError ? Object.assign(error, { data: failureOf(error) }) : (error as Error));
  } finally {
    arriving.delete(conn);
  }
}

/** An event of somebody who sends too much is not done; who waits for a reply is told. */
function refuse(event: readonly unknown[]): void {
  const reply = event.at(-1);
  if (typeof reply === 'function') reply(failureOf(new GjallarError('RATE_LIMITED')));
}

async function answer(
  handler: Handler,
  context: ChatContext,
  socket: ChatSocket,
  input: unknown,
  reply: unknown,
  log: Logger,
): Promise<void> {
  // A client that gives no input may still want to know what became of it.
  const callback = typeof reply === 'function' ? reply : typeof input === 'function' ? input : undefined;
  const { conn } = socket;
  context.answering.begin(conn);
  try {
    const result = await handler(context, socket, input);
    callback?.({ ok: true, ...result });
  } catch (error) {
    if (!(error instanceof GjallarError)) log.error({ error }, 'a chat event failed');
    const failure = failureOf(error);
    context.counters.failed(failure.code);
    callback?.(failure);
  } finally {
    context.answering.end(conn);
  }
}

function failureOf(error: unknown): Failure {
  if (error instanceof GjallarError) return { ok: false, code: error.code, message: error.message };
  return { ok: false, code: 'INTERNAL', message: errorCodes.INTERNAL.message };
}
