import type { Namespace } from '../../../index.js';
import type { PlainSocket } from '../../../io/plain/index.js';
import { type Identity, requireRoom } from '../../accounts/identity.js';
import { type ChatContext, chatRoomOf, ioRoomOf } from '../context.js';
import { post } from '../conversations/post.js';
import { readRoom, readText } from '../input.js';
import type { ChatMessage } from '../protocol.js';
import { type ChatMember, memberOf } from './member.js';

/** How texts reach the plain members on this worker. */
export interface PlainDelivery {
  /** The open WebSockets. */
  readonly all: ReadonlySet<PlainSocket<ChatMember>>;
  publish(room: string, text: string): void;
}

/** They are members of the rooms of the adapter under this id, which no socket has. */
const PLAIN_MEMBERS = 'plain members';

/** This worker's members on plain WebSockets. Presence counts them like all others. */
export class PlainMembers {
  /** The number of members. */
  size = 0;
  private readonly rooms = new Map<string, number>();

  constructor(
    private readonly delivery: PlainDelivery,
    private readonly adapter: Namespace['adapter'],
  ) {
    adapter.on('broadcast', (packet: { data?: unknown }, { rooms }: { rooms: ReadonlySet<string> }) => {
      if (this.size > 0) this.deliver(packet, rooms);
    });
  }

  /** The number of members of a room. */
  in(room: string): number {
    return this.rooms.get(room) ?? 0;
  }

  has(room: string): boolean {
    return this.rooms.has(room);
  }

  /** Delivers what is broadcast to a room's members over Socket.IO. */
  private deliver(packet: { readonly data?: unknown }, ioRooms: ReadonlySet<string>): void {
    for (const ioRoom of ioRooms) {
      const room = chatRoomOf(ioRoom);
      if (room === undefined || !this.has(room)) continue;
      const [event, message] = packet.data as [unknown, Partial<ChatMessage>?];
      if (event === 'message' && typeof message?.text === 'string') this.delivery.publish(room, message.text);
    }
  }

  private enter(room: string): void {
    this.size++;
    this.rooms.set(room, this.in(room) + 1);
    if (this.in(room) === 1) this.adapter.addAll(PLAIN_MEMBERS, new Set([ioRoomOf(room)]));
  }

  private leave(room: string): void {
    this.size--;
    const left = this.in(room) - 1;
    if (left > 0) return void this.rooms.set(room, left);
    this.rooms.delete(room);
    this.adapter.del(PLAIN_MEMBERS, ioRoomOf(room));
  }

  /** @throws GjallarError BAD_ROOM, ROOM_FORBIDDEN */
  admit(context: ChatContext, givenRoom: string, identity: Identity): ChatMember {
    const room = readRoom(givenRoom);
    const { name, displayName, grant } = identity;
    requireRoom(grant, 'join', room);
    let isIn = false;
    const member = memberOf(context, identity, room, {
      enter: async () => {
        isIn = true;
        this.enter(room);
        context.presence.add(ioRoomOf(room), name, displayName);
        await context.conversations?.follow(room);
      },
      say: async (text) => {
        requireRoom(grant, 'publish', room);
        if (context.talkers.isDue()) context.talkers.add(name);
        return post(context, { room }, [{ from: name, text: readText(text), at: Date.now() }], { client: member });
      },
      leave: () => {
        if (!isIn) return;
        this.leave(room);
        context.presence.remove(ioRoomOf(room), name);
      },
    });
    return member;
  }
}
