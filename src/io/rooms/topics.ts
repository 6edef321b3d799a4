import type { Namespace, Socket } from 'socket.io';
import type { Adapter, Room, SocketId } from 'socket.io-adapter';
import { joinTexts, nameOf, roomsNamed, splitTexts } from '../../base/names.js';
import type { Outbox } from '../../engine/delivery/outbox.js';
import type { NativeWebSocket } from '../../engine/http/exchange.js';
import type { Session } from '../../engine/session/session.js';
import { createdSet, isMember, membersOf, sizeOf } from './room-sets.js';

/** A room that was broadcast to: its topic, and the members that the topic does not reach. */
export interface Topic {
  readonly name: string;
  readonly directRecipients: Set<SocketId>;
}

/** The room that all sockets of the namespace are in. No room of an application is a symbol. */
export const ALL = Symbol('all');
export type TopicKey = Room | typeof ALL;

/** The name of a room's topic. */
export function topicNameOf(namespace: string, room: TopicKey): string {
  return room === ALL ? joinTexts('all', namespace) : joinTexts('room', namespace, nameOf(room));
}

/** Namespace and room of the topic's name of a room that is a text. */
export function roomOfTopic(name: string): { namespace: string; room: string } {
  const [, namespace, room] = splitTexts(name);
  return { namespace: namespace!, room: roomsNamed([room!])[0]! };
}

/** The members of a room are a set; those of all rooms are the keys of a map. */
type Members = Set<SocketId> | Map<SocketId, unknown>;

let created = 0;

/**
 * The topics of a namespace's rooms, and the members that each topic reaches. A topic belongs to the set of members that the
 * adapter holds, and follows each change of it, whether the adapter makes it or the application.
 */
export class Topics {
  private readonly topics = new WeakMap<Members, Topic>();
  private readonly awaitingUpgrade = new WeakSet<Socket>();

  constructor(
    private readonly adapter: Adapter,
    private readonly nsp: Namespace,
    private readonly engine: { readonly outbox: Outbox },
  ) {}

  membersOf(room: TopicKey): Iterable<SocketId> {
    return room === ALL ? this.adapter.sids.keys() : membersOf(this.adapter.rooms, room);
  }

  sizeOf(room: TopicKey): number {
    return room === ALL ? this.adapter.sids.size : sizeOf(this.adapter.rooms, room);
  }

  isMember(room: TopicKey, id: SocketId): boolean {
    return room === ALL ? this.adapter.sids.has(id) : isMember(this.adapter.rooms, room, id);
  }

  private setOf(room: TopicKey): Members | undefined {
    return room === ALL ? this.adapter.sids : createdSet(this.adapter.rooms, room);
  }

  /** The topic of a room of several members. A new topic is created with all present members. */
  topicOf(room: TopicKey): Topic {
    const members = this.setOf(room)!;
    const known = this.topics.get(members);
    if (known) return known;
    const topic = {
      // Of its own: an app may have several servers, and members of a set that the application has replaced are still subscribed.
      name: joinTexts(topicNameOf(this.nsp.name, room), String(++created)),
      directRecipients: new Set<SocketId>(),
    };
    this.topics.set(members, topic);
    for (const id of members.keys()) this.enter(id, topic);
    this.follow(members, topic);
    return topic;
  }

  /** Methods of its own tell what changes. Nothing shows them, so the set equals any other with the same members. */
  private follow(members: Members, topic: Topic): void {
    const adding = members instanceof Set ? 'add' : 'set';
    const { [adding]: add, delete: remove, clear } = members as Set<SocketId> & Map<SocketId, unknown>;
    const own = (name: string, value: (id: SocketId, value?: unknown) => unknown) =>
      Object.defineProperty(members, name, { value, configurable: true, writable: true });
    own(adding, (id, value) => {
      if (!members.has(id)) this.enter(id, topic);
      return add.call(members, id, value);
    });
    own('delete', (id) => {
      const isGone = remove.call(members, id);
      if (isGone) this.leave(id, topic);
      return isGone;
    });
    own('clear', () => {
      for (const id of members.keys()) this.leave(id, topic);
      clear.call(members);
    });
  }

  private enter(id: SocketId, topic: Topic): void {
    const webSocket = this.nativeSocketOf(id);
    if (webSocket) {
      this.engine.outbox.subscribe(webSocket, topic.name);
      return;
    }
    topic.directRecipients.add(id);
    this.awaitUpgrade(id);
  }

  private leave(id: SocketId, topic: Topic): void {
    if (topic.directRecipients.delete(id)) return;
    const webSocket = this.nativeSocketOf(id);
    if (webSocket) this.engine.outbox.unsubscribe(webSocket, topic.name);
  }

  /** Lets topics reach a socket that has connected, or upgraded: in rooms that it joined before, it is a direct recipient. */
  reach(id: SocketId): void {
    const rooms: TopicKey[] = [ALL, ...membersOf(this.adapter.sids, id)];
    for (const room of rooms) {
      const members = this.setOf(room);
      const topic = members && this.topics.get(members);
      if (topic?.directRecipients.delete(id)) this.enter(id, topic);
    }
  }

  /** A client on polling stays a direct recipient until it has upgraded to a WebSocket. */
  private awaitUpgrade(id: SocketId): void {
    const socket = this.nsp.sockets.get(id);
    if (!socket || this.awaitingUpgrade.has(socket)) return;
    this.awaitingUpgrade.add(socket);
    socket.conn.once('upgrade', () => {
      this.awaitingUpgrade.delete(socket);
      this.reach(id);
    });
  }

  /** The socket's WebSocket if topics reach it. */
  nativeSocketOf(id: SocketId): NativeWebSocket | undefined {
    const session = this.nsp.sockets.get(id)?.conn as unknown as Session | undefined;
    return session?.transport.nativeSocket;
  }
}
