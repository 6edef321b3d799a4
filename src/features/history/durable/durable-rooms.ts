import type { Namespace } from 'socket.io';
import type { Adapter, BroadcastOptions } from 'socket.io-adapter';
import { GjallarError } from '../../../base/errors.js';
import { joinTexts, nameOf, roomsNamed, splitTexts } from '../../../base/names.js';
import { own } from '../../../base/owner.js';
import { warnOfError } from '../../../base/warnings.js';
import { PacketType, reservedEvents } from '../../../engine/parser/socket-io-parser.js';
import type { AnySocket } from '../../../io/any.js';
import { serviceOf } from '../../../io/rooms/index.js';
import { answerRequests } from '../../requests.js';
import type { Conversation } from '../conversations/conversation.js';
import { Conversations, type PostResult } from '../conversations/conversations.js';
import type { StoreHealth } from '../loss/store-health.js';
import { type PageQuery, positionOf, type StoredMessage } from '../store.js';
import { type DurableRoomsSettings, type KeptPage, matcherOf, type PostOptions } from './options.js';
import { AUTHOR, checkReadable, durableHandlers, eventOf, readPage, textOfEvent } from './requests.js';

/** The event between workers. */
const EVENT = 'gjallar:durable';

interface EventPacket {
  readonly type: number;
  readonly id?: number;
  readonly data: readonly [string, ...unknown[]];
}

/**
 * Takes the broadcasts of the application to one durable room out of an adapter's way. Volatile and local messages, and
 * those with an acknowledgement, are for the moment, and go on.
 * @param keep gets such a broadcast
 * @param onSeveral called with a durable room that a message names together with others: it is delivered, and not kept
 * @returns what ends it
 */
function captureBroadcasts(
  adapter: Adapter,
  isDurable: (room: unknown) => room is string,
  keep: (room: string, data: EventPacket['data'], except: string[]) => void,
  onSeveral: (room: string) => void,
): () => void {
  const { broadcast } = adapter;
  adapter.broadcast = (packet: EventPacket, options: BroadcastOptions) => {
    const { rooms, except, flags } = options;
    if (
      rooms.size > 0 &&
      !flags?.local &&
      !flags?.volatile &&
      packet.type === PacketType.EVENT &&
      packet.id === undefined
    ) {
      for (const room of rooms) {
        if (!isDurable(room)) continue;
        if (rooms.size === 1) return keep(room, packet.data, Array.from(except ?? [], nameOf));
        onSeveral(room);
        break;
      }
    }
    return broadcast.call(adapter, packet, options);
  };
  return () => {
    adapter.broadcast = broadcast;
  };
}

/** How often messages that are too old are removed, in ms. */
const TRIM_INTERVAL_MS = 60_000;
/** How long until a store that failed is asked again, in ms. */
const RETRY_MS = 1000;

function warnOf(error: unknown): void {
  const { code, name, message } = error as NodeJS.ErrnoException;
  warnOfError(code ?? name, message);
}

/** The durable rooms of a namespace on this worker, without the types of their events. */
export class LocalDurableRooms {
  private readonly isDurable: (room: unknown) => room is string;
  private readonly conversations: Conversations;
  private readonly onError: (error: unknown, room: string) => void;
  private readonly following = new Set<string>();
  private readonly readers = new WeakSet<AnySocket>();
  private readonly trimmer: NodeJS.Timeout;
  private readonly ends: (() => void)[] = [];
  private isClosed = false;
  private hasWarned = false;

  constructor(
    private readonly nsp: Namespace,
    { store, loss }: Pick<StoreHealth, 'store' | 'loss'>,
    private readonly options: DurableRoomsSettings,
    private readonly onClose: () => Promise<void>,
  ) {
    this.onError = options.onError ?? warnOf;
    this.isDurable = matcherOf(options.rooms);
    this.conversations = new Conversations(store, undefined, serviceOf(nsp, EVENT), {
      hasRoom: (name) => nsp.adapter.rooms.has(this.roomOf(name)),
      hasUser: () => false,
      deliver: (conversation, message) => this.deliver(conversation, message),
      onLoss: (lastUsed) => loss.find(lastUsed),
      startsWithAnnounced: true,
    });
    this.trimmer = setInterval(() => {
      const trimmed = store.trim(Date.now()).catch((error: unknown) => this.onError(error, ''));
      own('reporting an error of durable rooms', trimmed);
    }, TRIM_INTERVAL_MS).unref();
    this.watch();
  }

  to(room: string, options: PostOptions = {}): { emit(event: string, ...values: unknown[]): Promise<PostResult> } {
    return {
      emit: async (event, ...values) => {
        this.requireDurable(room);
        return this.keep(room, event, textOfEvent({ event, values, except: [] }), options);
      },
    };
  }

  async read(room: string, query: PageQuery): Promise<KeptPage> {
    this.requireDurable(room);
    if (typeof query !== 'object' || query === null) throw new GjallarError('BAD_PAGE');
    return readPage(this.requests, room, query, {});
  }

  async close(): Promise<void> {
    if (this.isClosed) return;
    this.isClosed = true;
    clearInterval(this.trimmer);
    for (const end of this.ends) end();
    // It announces the last messages.
    this.conversations.close();
    await this.onClose();
  }

  private get requests() {
    const { isDurable, conversations, readers, options } = this;
    return { isDurable, conversations, readers, options, nameOf: (room: string) => this.nameOf(room) };
  }

  /** Takes part in what happens in the namespace from now on. */
  private watch(): void {
    const { nsp, isDurable, requests } = this;
    const { adapter } = nsp;
    const onConnection = (socket: AnySocket) => {
      if (socket.recovered) own('telling where durable rooms are', this.tellPositions(socket));
    };
    const onRoom = (room: unknown) => {
      if (isDurable(room)) own('following a durable room', this.follow(room));
    };
    nsp.on('connection', onConnection);
    adapter.on('create-room', onRoom);
    const endAnswers = answerRequests(
      nsp,
      (socket) => durableHandlers(socket, requests),
      (error) => this.onError(error, ''),
    );
    const endCapture = captureBroadcasts(
      adapter,
      isDurable,
      (room, [event, ...values], except) => {
        // What cannot be encoded throws here, to the caller of emit().
        const kept = this.keep(room, event, textOfEvent({ event, values, except }), {});
        own(
          'reporting an error of a durable room',
          kept.catch((error: unknown) => this.onError(error, room)),
        );
      },
      (room) => this.warnOfSeveral(room),
    );
    this.ends.push(endCapture, endAnswers, () => {
      nsp.off('connection', onConnection);
      adapter.off('create-room', onRoom);
    });
    for (const socket of nsp.sockets.values()) onConnection(socket);
    for (const room of adapter.rooms.keys()) onRoom(room);
  }

  /**
   * The recovery of connections does not keep the messages of durable rooms. So a client that was recovered is told the
   * position of each of its rooms, from which on it gets messages as they come: what is before that, it can read.
   */
  private async tellPositions(socket: AnySocket): Promise<void> {
    const rooms = [...socket.rooms].filter(this.isDurable);
    if (rooms.length === 0) return;
    const positions = rooms.map(async (room) => {
      // While the store is unreachable, the client has to compare later.
      const position = await this.conversations.follow(this.nameOf(room)).catch(() => undefined);
      return { room, ...position };
    });
    socket.emit('durable:recovered', await Promise.all(positions));
  }

  /** Follows a room as long as it has members here. */
  private async follow(room: string): Promise<void> {
    if (this.following.has(room)) return;
    this.following.add(room);
    try {
      await this.conversations.follow(this.nameOf(room));
    } catch (error) {
      this.onError(error, room);
      setTimeout(() => {
        if (!this.isClosed && this.nsp.adapter.rooms.has(room)) own('following a durable room', this.follow(room));
      }, RETRY_MS).unref();
    } finally {
      this.following.delete(room);
    }
  }

  private async keep(room: string, event: unknown, text: string, { key }: PostOptions): Promise<PostResult> {
    if (typeof event !== 'string' || reservedEvents.has(event)) {
      throw new GjallarError('BAD_INPUT', `"${event}" cannot be the name of an event. Use another one.`);
    }
    checkReadable(text);
    const { maxMessageBytes } = this.options;
    if (Buffer.byteLength(text) > maxMessageBytes) throw new GjallarError('MESSAGE_TOO_LARGE');
    const message = { from: AUTHOR, text, at: Date.now() };
    const [result] = await this.conversations.post(
      { room: this.nameOf(room) },
      [message],
      key === undefined ? {} : { key },
    );
    return result!;
  }

  /** Delivers to the members on this worker. */
  private deliver(conversation: Conversation, message: StoredMessage): void {
    const room = this.roomOf((conversation as { room: string }).room);
    try {
      const event = eventOf(message);
      if (!event) return;
      const values = [...event.values, { room, ...positionOf(message) }];
      this.nsp.local
        .to(room)
        .except(roomsNamed(event.except))
        .emit(event.event, ...values);
      for (const reader of this.excludedReaders(room, event.except)) reader.emit(event.event, ...values);
    } catch (error) {
      this.onError(error, room);
    }
  }

  /**
   * Members that a message excludes, such as its sender, whose clients use the helper. Offsets have no gaps, so they get it too:
   * otherwise, the helper would have to ask for it once a later one shows that it lacks one.
   */
  private *excludedReaders(room: string, except: readonly string[]): Generator<AnySocket> {
    const { adapter, sockets } = this.nsp;
    const ids = new Set(roomsNamed(except).flatMap((each) => [...(adapter.rooms.get(each) ?? [])]));
    for (const id of ids) {
      const socket = sockets.get(id);
      if (socket?.rooms.has(room) && this.readers.has(socket)) yield socket;
    }
  }

  private requireDurable(room: string): void {
    if (!this.isDurable(room)) {
      throw new GjallarError('BAD_ROOM', `The room "${room}" is not durable. Add its name to the option "rooms".`);
    }
  }

  private warnOfSeveral(room: string): void {
    if (this.hasWarned) return;
    this.hasWarned = true;
    this.onError(
      new GjallarError(
        'BAD_INPUT',
        `A message to "${room}" and other rooms is not kept. Emit to each durable room alone.`,
      ),
      room,
    );
  }

  /** Rooms of different namespaces may have the same name. */
  private nameOf(room: string): string {
    return joinTexts(this.nsp.name, room);
  }

  private roomOf(name: string): string {
    return splitTexts(name)[1]!;
  }
}
