import { randomBytes } from 'node:crypto';
import { GjallarError } from '../../base/errors.js';
import { Tally } from '../../base/tally.js';
import { decodeRoom } from '../../io/http/json.js';
import type { PlainMember, PlainRoute, PlainSocket } from '../../io/plain/index.js';
import { atTime, type Identity, requireRoom } from '../accounts/identity.js';
import { type ChatContext, chatRoomOf, ioRoomOf } from './context.js';
import { postToRoom } from './conversations/post.js';
import { identify } from './identify.js';
import { readRoom, readText } from './input.js';
import type { ChatMessage } from './protocol.js';
import { admitWatcher } from './state/watch.js';

type PlainRequest = Parameters<PlainRoute<Member>['admit']>[0];

/** How texts reach the plain members on this worker. */
export interface PlainDelivery {
  /** The open WebSockets. */
  readonly all: ReadonlySet<PlainSocket<Member>>;
  publish(room: string, text: string): void;
}

/** The part of the adapter that plain members need: they are members of its rooms, under one id without a socket. */
export interface RoomAdapter {
  on(event: 'broadcast', listener: (packet: { data?: unknown }, options: { rooms: ReadonlySet<string> }) => void): void;
  addAll(id: string, rooms: Set<string>): unknown;
  del(id: string, room: string): unknown;
}

const PLAIN_MEMBERS = 'plain members';

/** This worker's members on plain WebSockets. The presence registry counts them like all others. */
export class PlainMembers {
  /** The number of members. */
  size = 0;
  private readonly rooms = new Tally<string>();

  constructor(
    private readonly delivery: PlainDelivery | undefined,
    private readonly adapter: RoomAdapter,
  ) {
    adapter.on('broadcast', (packet, { rooms }) => {
      if (this.size > 0) this.deliver(packet, rooms);
    });
  }

  /** The number of members of a room. */
  in(room: string): number {
    return this.rooms.of(room);
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
      if (event === 'message' && typeof message?.text === 'string') this.delivery?.publish(room, message.text);
    }
  }

  private enter(room: string): void {
    this.size++;
    this.rooms.add(room);
    if (this.in(room) === 1) this.adapter.addAll(PLAIN_MEMBERS, new Set([ioRoomOf(room)]));
  }

  private leave(room: string): void {
    this.size--;
    this.rooms.remove(room);
    if (!this.has(room)) this.adapter.del(PLAIN_MEMBERS, ioRoomOf(room));
  }

  /** @throws GjallarError BAD_ROOM, ROOM_FORBIDDEN */
  admit(context: ChatContext, givenRoom: string, identity: Identity): Member {
    const room = readRoom(givenRoom);
    const { name, displayName, grant } = identity;
    requireRoom(grant, 'join', room);
    let isIn = false;
    const member = memberOf(context, identity, room, {
      enter: async () => {
        isIn = true;
        this.enter(room);
        context.presenceBroadcaster.watch(room);
        context.presenceRegistry.add(room, name, displayName);
        await context.conversations?.follow(room);
      },
      say: async (text) => {
        requireRoom(grant, 'publish', room);
        if (context.talkers.isDue()) context.talkers.add(name);
        return postToRoom(context, room, [{ from: name, text: readText(text), at: Date.now() }], { client: member });
      },
      leave: () => {
        if (!isIn) return;
        this.leave(room);
        context.presenceRegistry.remove(room, name);
      },
    });
    return member;
  }
}

/** A user on a plain WebSocket. */
export interface Member extends PlainMember {
  readonly identity: Identity;
}

/** A member whose connection ends with its token. */
export function memberOf(
  { revoked }: ChatContext,
  identity: Identity,
  room: string | undefined,
  { enter, say, leave }: Pick<PlainMember, 'enter' | 'say' | 'leave'>,
): Member {
  let cancelExpiry = () => {};
  return {
    room,
    identity,
    enter: async (client) => {
      // The token may have been revoked since it was checked.
      if (revoked?.isRevoked(identity)) throw new GjallarError('TOKEN_REVOKED');
      cancelExpiry = atTime(identity.expires, () => client.refuse('TOKEN_EXPIRED'));
      await enter(client);
    },
    say,
    leave: () => {
      cancelExpiry();
      leave();
    },
  };
}

/** Watches a state room. */
const STATE = /^\/api\/state\/([^/]+)$/;
/** Paths that the server uses itself. A room with such a name is reached by encoding it: `/%61pi` is the room `api`. */
const RESERVED = /^\/((socket\.io|api)(\/|$)|(healthz|readyz|metrics)$)/;

/**
 * Admits a plain WebSocket: at `ws://HOST/ROOM` to a room, and at `ws://HOST/api/state/ROOM` to the changes of a state room.
 * @throws GjallarError NOT_FOUND, BAD_ROOM, BAD_NAME, BAD_INPUT, TOKEN_…, ROOM_FORBIDDEN
 */
export async function admitPlain(
  context: ChatContext,
  members: PlainMembers,
  { url, _query: query }: PlainRequest,
): Promise<Member> {
  const [path = ''] = url.split('?');
  const watched = STATE.exec(path)?.[1];
  if (watched === undefined && RESERVED.test(path)) throw new GjallarError('NOT_FOUND');
  const room = decodeRoom(watched ?? path.slice(1));
  readRoom(room);
  const identity = await identify(context.accounts, query, randomBytes(3).toString('hex'));
  return watched === undefined ? members.admit(context, room, identity) : admitWatcher(context, room, identity, query);
}
