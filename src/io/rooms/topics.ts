import type { Namespace, Socket } from 'socket.io';
import type { Adapter, Room, SocketId } from 'socket.io-adapter';
import { joinTexts, nameOf, roomsNamed, splitTexts } from '../../base/names.js';
import type { Outbox } from '../../engine/delivery/outbox.js';
import type { NativeWebSocket } from '../../engine/http/exchange.js';
import type { Session } from '../../engine/session/session.js';
import { isMember, membersOf, sizeOf } from './room-sets.js';

/** A room that was broadcast to: its topic, and the members that the topic does not reach. */
export interface Topic {
  readonly name: string;
  readonly directRecipients: Set<SocketId>;
}

/** The room that all sockets of the namespace are in. No room of an application is a symbol. */
export const ALL = Symbol('all');
export type RoomKey = Room | typeof ALL;

/** The name of a room's topic. */
export function topicNameOf(namespace: string, room: RoomKey): string {
  return room === ALL ? joinTexts('all', namespace) : joinTexts('room', namespace, nameOf(room));
}

/** Namespace and room of the topic's name of a room that is a text. */
export function roomOfTopic(name: string): { namespace: string; room: string } {
  const [, namespace, room] = splitTexts(name);
  return { namespace: namespace!, room: roomsNamed([room!])[0]! };
}

/** The topics of a namespace's rooms, and the members that each topic reaches. */
export class Topics {
  private readonly topics = new Map<RoomKey, Topic>();
  private readonly awaitingUpgrade = new Set<SocketId>();

  constructor(
    private readonly adapter: Adapter,
    private readonly nsp: Namespace,
    private readonly engine: { readonly outbox: Outbox },
  ) {}

  membersOf(room: RoomKey): Iterable<SocketId> {
    return room === ALL ? this.adapter.sids.keys() : membersOf(this.adapter.rooms, room);
  }

  sizeOf(room: RoomKey): number {
    return room === ALL ? this.adapter.sids.size : sizeOf(this.adapter.rooms, room);
  }

  isMember(room: RoomKey, id: SocketId): boolean {
    return room === ALL ? this.adapter.sids.has(id) : isMember(this.adapter.rooms, room, id);
  }

  /** The topic of a room. A new topic is created with all present members. */
  topicOf(room: RoomKey): Topic {
    const known = this.topics.get(room);
    if (known) return known;
    const topic = {
      name: topicNameOf(this.nsp.name, room),
      directRecipients: new Set<SocketId>(),
    };
    this.topics.set(room, topic);
    for (const id of this.membersOf(room)) {
      const socket = this.nsp.sockets.get(id);
      if (socket) this.enterTopic(id, socket, topic);
    }
    return topic;
  }

  /** @param id that of the socket in the adapter: the application may have set another one on the socket since */
  enter(id: SocketId, socket: Socket, rooms: Iterable<RoomKey>): void {
    for (const room of rooms) {
      const topic = this.topics.get(room);
      if (topic) this.enterTopic(id, socket, topic);
    }
  }

  private enterTopic(id: SocketId, socket: Socket, topic: Topic): void {
    const webSocket = this.nativeSocketOf(id);
    if (webSocket) {
      this.engine.outbox.subscribe(webSocket, topic.name);
      return;
    }
    topic.directRecipients.add(id);
    this.awaitUpgrade(id, socket);
  }

  leave(id: SocketId, room: RoomKey): void {
    const topic = this.topics.get(room);
    if (!topic || !this.isMember(room, id)) return;
    if (!topic.directRecipients.delete(id)) this.unsubscribe(id, topic);
    if (this.sizeOf(room) === 1) this.topics.delete(room);
  }

  /** Removes a socket from all its rooms. */
  forget(id: SocketId): void {
    for (const room of this.roomsOf(id)) this.leave(id, room);
    this.awaitingUpgrade.delete(id);
  }

  roomsOf(id: SocketId): RoomKey[] {
    return [ALL, ...membersOf(this.adapter.sids, id)];
  }

  /** A client on polling stays a direct recipient until it has upgraded to a WebSocket. */
  private awaitUpgrade(id: SocketId, socket: Socket): void {
    if (this.awaitingUpgrade.has(id)) return;
    this.awaitingUpgrade.add(id);
    socket.conn.once('upgrade', () => {
      if (!this.awaitingUpgrade.delete(id) || !this.nativeSocketOf(id)) return;
      for (const room of this.roomsOf(id)) {
        const topic = this.topics.get(room);
        if (topic?.directRecipients.delete(id)) this.enterTopic(id, socket, topic);
      }
    });
  }

  private unsubscribe(id: SocketId, topic: Topic): void {
    const webSocket = this.nativeSocketOf(id);
    if (webSocket) this.engine.outbox.unsubscribe(webSocket, topic.name);
  }

  /** The socket's WebSocket if topics reach it. */
  nativeSocketOf(id: SocketId): NativeWebSocket | undefined {
    const session = this.nsp.sockets.get(id)?.conn as unknown as Session | undefined;
    return session?.transport.nativeSocket;
  }
}
