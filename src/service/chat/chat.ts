import { own } from '../../base/owner.js';
import { TopKeys } from '../../engine/top-keys.js';
import { type Conversations, openConversations } from '../../features/history/index.js';
import { createPresence } from '../../features/presence/index.js';
import type { Config } from '../../host/index.js';
import type { Namespace, Session, Socket } from '../../index.js';
import { atMostEvery } from '../../io/http/index.js';
import { admit, admitted, identityOf } from './admission.js';
import { type ChatContext, chatRoomOf, ioRoomOf, ioRoomOfUser, namesOf } from './context.js';
import type { KeptMessages } from './conversations/kept-messages.js';
import { deliverHere } from './conversations/post.js';
import { Expiry } from './expiry.js';
import { answer, echo, refuse } from './handlers/answer.js';
import { handlers } from './handlers/index.js';
import { ChatCounters } from './metrics.js';
import { chatSeam, endRevoked } from './operator/clients.js';
import { OperatorMessages } from './operator/messages.js';
import { admitPlain } from './plain/admit.js';
import { type PlainDelivery, PlainMembers } from './plain/members.js';
import { answerTotals, applicationViewOf, chatStatsOf, type WorkerTotals } from './presence/stats.js';
import type { ChatServer, ChatSocket } from './protocol.js';
import { StateService } from './state/service.js';

/** What the chat uses. The other fields are those of its context. */
export interface ChatParts extends Pick<ChatContext, 'worker' | 'engine' | 'accounts' | 'revoked'> {
  /** The stores of the messages. */
  kept: KeptMessages;
  /** Reaches the members on plain WebSockets. */
  plain: PlainDelivery;
}

export type Chat = ReturnType<typeof startChat>;

/** Starts the chat on the namespace `/` of a Socket.IO server. */
export function startChat(io: ChatServer, config: Config, { kept, plain, ...parts }: ChatParts) {
  const { worker, engine, accounts, revoked } = parts;
  const { reports } = worker;
  const { history, archive, loss } = kept;
  const counters = new ChatCounters();
  const talkers = new TopKeys();
  const presence = createPresence<string>(io.of('/') as unknown as Namespace, {
    isRoom: (ioRoom) => chatRoomOf(ioRoom) !== undefined,
  })
    .on('update', ({ room: ioRoom, members, joined, left, sockets }) => {
      if (joined?.size === 0 && left?.size === 0 && !sockets) return;
      const here = (config.slowPolicy === 'drop-volatile' ? io.local.volatile : io.local).to(ioRoom);
      const users = joined && { joined: [...joined.keys()], left: [...left!.keys()] };
      const names = users && namesOf(joined, left!);
      here.emit('presence', { room: chatRoomOf(ioRoom)!, members, ...users, ...(names && { names }) });
    })
    .on('malformed', (reason) => reports.malformed('application', `presence: ${reason}`));
  const ownTotals = (): WorkerTotals => ({
    clients: io.of('/').sockets.size + plainMembers.size,
    messages: counters.roomMessages + counters.directMessages,
  });
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
      costs: engine.costs,
      onLoss: (lastUsed) => loss?.find(lastUsed),
    });
  const plainMembers = new PlainMembers(plain, io.of('/').adapter);
  const context: ChatContext = {
    ...parts,
    io,
    presence,
    conversations,
    expiry: new Expiry(),
    inFlight: new Map(),
    states: new StateService(io, config, engine),
    counters,
    talkers,
  };

  /** @returns whether the event is one of the chat */
  function onEvent(socket: ChatSocket, event: readonly unknown[]): boolean {
    // socket.io calls middleware even behind the end of the connection.
    if (!socket.connected) return true;
    const [name] = event;
    if (engine.messageLimits && (socket.conn as unknown as Session).isOverLimit) {
      refuse(event);
      return true;
    }
    const handler = handlers.get(name);
    if (handler) own(`answering the event ${name}`, answer(handler, context, socket, event));
    else if (name === 'echo') echo(socket, event);
    else return false;
    return true;
  }
  const names = [...handlers.keys(), 'echo'];
  function onDisconnecting(this: ChatSocket): void {
    context.expiry.forget(this);
  }

  answerTotals(io, ownTotals);
  io.use((socket, next) => admit(accounts, reports, socket, next));
  io.on('connection', (socket) => {
    admitted(socket);
    void socket.join(ioRoomOfUser(socket.data.name));
    // The token may have been revoked since it was checked.
    const identity = identityOf(socket);
    if (identity && revoked?.isRevoked(identity)) return void socket.disconnect(true);
    presence.track(socket as unknown as Socket, socket.data.name, socket.data.displayName);
    if (identity) {
      context.expiry.set(socket, identity);
      socket.on('disconnecting', onDisconnecting);
    }
    const listen = (name: unknown) => socket.on(name as 'echo', (...values) => onEvent(socket, [name, ...values]));
    if (isInstrumented(socket)) names.forEach(listen);
    // A listener for each event would cost each client more than a kilobyte, and each event a turn of process.nextTick().
    else socket.use((event, next) => onEvent(socket, event) || next());
  });
  return {
    /** Admits a plain WebSocket; see {@link admitPlain}. */
    admit: (request: Parameters<typeof admitPlain>[2]) => admitPlain(context, plainMembers, request),
    context,
    /** How the chat takes part in the operator's actions. */
    operator: chatSeam(context, plain.all),
    messages: new OperatorMessages(context, history && { history, archive: archive?.archive }),
    /** Ends the connections on this worker whose tokens are revoked. */
    endRevoked: () => endRevoked(context, plain.all),
    /** The rooms and users, as the operator sees them. */
    view: applicationViewOf(plainMembers, talkers),
    /** Counts rooms and members over all workers and machines. */
    stats: atMostEvery(1000, () => chatStatsOf(io, presence, ownTotals())),
    /** Whether an event of the client with this connection has no reply yet. */
    isAnswering: (conn: object) => context.inFlight.has(conn),
    /** Tells the other workers that this one is stopping. */
    close: () => {
      conversations?.close();
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
