import type { Logger } from 'pino';
import { own } from '../../base/owner.js';
import { thisProcess } from '../../base/process.js';
import { Tally } from '../../base/tally.js';
import { systemClock } from '../../engine/clock.js';
import { TopKeys } from '../../engine/top-keys.js';
import {
  type Conversations,
  type ConversationsOptions,
  type HistoryStore,
  openConversations,
  type Said,
} from '../../features/history/index.js';
import { createPresence } from '../../features/presence/index.js';
import type { ApplicationView } from '../../host/runtime/application.js';
import type { OperatorSeam } from '../../host/runtime/operator/actions.js';
import type { Engine, Namespace, Socket } from '../../index.js';
import type { Accounts, Identity } from '../accounts/identity.js';
import type { RevokedTokens } from '../accounts/revocations.js';
import { admit, identityOf } from './admission.js';
import { type ChatContext, chatRoomOf, ioRoomOf, ioRoomOfUser } from './context.js';
import type { LateArchive } from './conversations/kept-messages.js';
import { asChatMessage, deliverHere } from './conversations/post.js';
import { type PublishReply, publish, type RoomPage, readRoomPage } from './conversations/publish.js';
import { Expiry } from './expiry.js';
import { answer, refuse } from './handlers/answer.js';
import { echo, handlers } from './handlers/index.js';
import { identifyByToken } from './identify.js';
import { ChatCounters } from './metrics.js';
import { chatSeam, endRevoked } from './operator/clients.js';
import { type ExportLine, exportOf, MessageDeletion } from './operator/messages.js';
import { admitPlain } from './plain/admit.js';
import type { Member } from './plain/member.js';
import { type PlainDelivery, PlainMembers } from './plain/members.js';
import { PresenceBroadcaster } from './presence/broadcaster.js';
import { MemberLists } from './presence/member-lists.js';
import { answerTotals, type ChatStats, readStats, viewOf, type WorkerTotals } from './presence/stats.js';
import type { ChatServer, ChatSocket } from './protocol.js';
import { StateService, type StateSettings } from './state/service.js';

export interface Chat {
  /** Posts to a room without joining it; see {@link publish}. */
  publish(
    caller: Identity | undefined,
    room: string,
    readInput: () => Promise<unknown>,
    key: string | undefined,
  ): Promise<PublishReply>;
  /** Reads a page of a room's messages; see {@link readRoomPage}. */
  read(caller: Identity | undefined, room: string, query: unknown): Promise<RoomPage>;
  /** Verifies a token; undefined if users choose their own names. */
  readonly identify: ((token: unknown) => Promise<Identity>) | undefined;
  /** Whether an event of the client with this connection has no reply yet. */
  isAnswering(conn: object): boolean;
  /** Admits a plain WebSocket; see {@link admitPlain}. */
  admit(request: Parameters<typeof admitPlain>[2]): Promise<Member>;
  readonly states: StateService;
  readonly counters: ChatCounters;
  /** How the chat takes part in the operator's actions. */
  readonly operator: OperatorSeam;
  /** Deletes messages for the operator. */
  readonly deletion: MessageDeletion;
  /** What the stores have of a user; see {@link exportOf}. */
  exportOf(user: string): AsyncGenerator<ExportLine[]>;
  /** Ends the connections on this worker whose tokens are revoked. */
  endRevoked(): void;
  /** Tells the other workers and machines that the list of revoked tokens has changed. */
  announceRevocation(): void;
  /** The rooms and users, as the operator sees them. */
  readonly view: ApplicationView;
  /** Counts rooms and members over all workers and machines; see {@link readStats}. */
  stats(limit: number): Promise<ChatStats>;
  /** Tells the other workers that this one is stopping. */
  close(): void;
}

export interface ChatOptions {
  /** This worker's id. */
  workerId: number;
  log: Logger;
  /** Stores the messages. Without it, no messages are stored. */
  history?: HistoryStore;
  /** Reads messages that the history no longer has. */
  archive?: LateArchive;
  /** Reaches the members on plain WebSockets. */
  plain?: PlainDelivery;
  /** Verifies tokens. Without it, users choose their own names. */
  accounts?: Accounts;
  /** The revoked tokens. {@link accounts} reject them. */
  revoked?: RevokedTokens;
  /** Called when another worker has changed the list of revoked tokens. */
  onRevocation?: () => void;
  /** Whether the client with this connection exceeds its rate limit, so its events are rejected. */
  isOverLimit?: (conn: unknown) => boolean;
  /** Whether new messages are refused because the worker is overloaded. */
  isOverloaded?: () => boolean;
  /** Whether presence events wait because the worker is busy. */
  isBusy?: () => boolean;
  /** Charges clients for requests that cost the worker more than they send. */
  costs?: Engine['costs'];
  /** Called when a conversation has a new epoch; see `ConversationEvents`. */
  onNewEpoch?: ConversationsOptions['onNewEpoch'];
  /** The state rooms. @default none */
  state?: StateSettings;
  /** Whether presence events to slow clients are dropped. @default false */
  volatilePresence?: boolean;
}

/** Starts the chat on the namespace `/` of a Socket.IO server. */
export function startChat(
  io: ChatServer,
  {
    workerId,
    log,
    history,
    archive,
    plain,
    accounts,
    revoked,
    onRevocation = () => {},
    isOverLimit,
    isOverloaded = () => false,
    isBusy,
    costs,
    onNewEpoch,
    state = { names: [] },
    volatilePresence = false,
  }: ChatOptions,
): Chat {
  const counters = new ChatCounters();
  const talkers = new TopKeys(systemClock);
  const presence = createPresence(io.of('/') as unknown as Namespace, {
    isRoom: (ioRoom) => chatRoomOf(ioRoom) !== undefined,
  })
    .on('change', (ioRoom) => {
      const room = chatRoomOf(ioRoom)!;
      memberLists.forget(room);
      presenceBroadcaster.note(room);
    })
    .on('malformed', (reason) => thisProcess.reports.malformed('application', `presence: ${reason}`));
  const roster = { usersOf: (room: string) => presence.usersOf(ioRoomOf(room)) };
  const ownTotals = (): WorkerTotals => ({
    clients: io.of('/').sockets.size + plainMembers.size,
    messages: counters.roomMessages + counters.directMessages,
  });
  const memberLists: MemberLists = new MemberLists(roster);
  const presenceBroadcaster: PresenceBroadcaster = new PresenceBroadcaster(
    roster,
    (change) => (volatilePresence ? io.local.volatile : io.local).to(ioRoomOf(change.room)).emit('presence', change),
    (room) => hasRoom(ioRoomOf(room)),
    isBusy,
  );
  const hasRoom = (ioRoom: string) => io.of('/').adapter.rooms.has(ioRoom);
  const conversations: Conversations | undefined =
    history &&
    openConversations(io.of('/') as unknown as Namespace, {
      store: history,
      archive,
      deliver: (conversation, message) => deliverHere(context, conversation, message),
      hasRoom: (room) => hasRoom(ioRoomOf(room)) || plainMembers.has(room),
      hasUser: (name) => hasRoom(ioRoomOfUser(name)),
      onRead: ({ lacks }) => {
        if (lacks) counters.incomplete[lacks]++;
      },
      costs,
      onNewEpoch: (...what) => onNewEpoch?.(...what),
    });
  const plainMembers = new PlainMembers(plain, io.of('/').adapter);
  const deliver = (room: string, message: Said) =>
    io.local.to(ioRoomOf(room)).emit('message', asChatMessage(room, message));
  const context: ChatContext = {
    io,
    presence,
    presenceBroadcaster,
    memberLists,
    conversations,
    workerId,
    deliver,
    accounts,
    expiry: new Expiry(),
    revoked,
    inFlight: new Tally(),
    states: new StateService(io, state, isOverloaded, costs),
    isOverloaded,
    counters,
    costs,
    talkers,
  };

  // One function for all events of all clients: a listener for each event would cost each client more than a kilobyte.
  function onEvent(this: ChatSocket, ...event: unknown[]): void {
    // socket.io calls listeners of all events even behind the end of the connection.
    if (!this.connected) return;
    const [name, input, reply] = event;
    if (isOverLimit?.(this.conn)) return refuse(event);
    const handler = handlers.get(name);
    if (handler) own(`answering the event ${name}`, answer(handler, context, this, input, reply, log));
    else if (name === 'echo') echo(this, input, reply);
  }
  const names = [...handlers.keys(), 'echo'];
  function onDisconnecting(this: ChatSocket): void {
    context.expiry.forget(this);
  }

  io.on('revoked', () => onRevocation());
  answerTotals(io, ownTotals);
  const stores = history && { history, archive };
  io.use((socket, next) => admit(accounts, socket, next));
  io.on('connection', (socket) => {
    void socket.join(ioRoomOfUser(socket.data.name));
    // The token may have been revoked since it was checked.
    const identity = identityOf(socket);
    if (identity && revoked?.isRevoked(identity)) return void socket.disconnect(true);
    presence.track(socket as unknown as Socket, socket.data.name, socket.data.displayName);
    if (identity) {
      context.expiry.set(socket, identity);
      socket.on('disconnecting', onDisconnecting);
    }
    if (isInstrumented(socket)) for (const name of names) socket.on(name as 'echo', onEvent.bind(socket, name));
    else socket.onAny(onEvent);
  });
  return {
    admit: (request) => admitPlain(context, plainMembers, request),
    states: context.states,
    publish: (...what) => publish(context, ...what),
    read: (caller, room, query) => readRoomPage(context, caller, room, query),
    counters,
    operator: chatSeam(context, plain?.all ?? []),
    deletion: new MessageDeletion(context, stores),
    exportOf: (user) => exportOf(stores, user),
    endRevoked: () => endRevoked(context, plain?.all ?? []),
    announceRevocation: () => io.serverSideEmit('revoked'),
    view: viewOf(plainMembers, talkers),
    stats: (limit) => readStats(io, presence, ownTotals(), limit),
    identify: accounts && ((token) => identifyByToken(accounts, token)),
    isAnswering: (conn) => context.inFlight.has(conn),
    close: () => {
      conversations?.close();
      presenceBroadcaster.close();
      presence.close();
      context.states.close();
    },
  };
}

/**
 * Whether an instrumentation, such as OpenTelemetry's, follows what listeners of a socket do. It sees those of named events only,
 * and marks the method that it has wrapped.
 */
function isInstrumented({ on }: Pick<ChatSocket, 'on'>): boolean {
  return '__wrapped' in on;
}
