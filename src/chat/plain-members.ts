import { randomBytes } from 'node:crypto';
import { type Identity, requireRoom } from '../accounts/identity.js';
import { GjallarError } from '../errors.js';
import type { PlainSocket } from '../plain/plain-socket.js';
import type { ChatContext } from './context.js';
import { postToRoom } from './conversations/post.js';
import { identify } from './identify.js';
import { readRoom, readText } from './input.js';

/** A member on a plain WebSocket, which is in one room and receives only its texts. */
export interface PlainMember {
  readonly room: string;
  readonly identity: Identity;
  /** When the membership ends, in ms since 1970. */
  readonly expires?: number;
  enter(): Promise<void>;
  say(text: string): Promise<unknown>;
  leave(): void;
}

/** How texts reach the plain members on this worker. */
export interface PlainDelivery {
  /** The open WebSockets. */
  readonly all: ReadonlySet<PlainSocket>;
  publish(room: string, text: string): void;
}

/** This worker's members on plain WebSockets. The presence registry counts them like all others. */
export class PlainMembers {
  /** The number of members. */
  size = 0;
  private readonly rooms = new Map<string, number>();

  constructor(private readonly delivery: PlainDelivery | undefined) {}

  /** The number of members of a room. */
  in(room: string): number {
    return this.rooms.get(room) ?? 0;
  }

  /** The rooms with members. */
  get all(): Iterable<string> {
    return this.rooms.keys();
  }

  has(room: string): boolean {
    return this.rooms.has(room);
  }

  deliver(room: string, text: string): void {
    if (this.has(room)) this.delivery?.publish(room, text);
  }

  /** @throws GjallarError BAD_ROOM, BAD_NAME, TOKEN_…, ROOM_FORBIDDEN */
  async admit(context: ChatContext, givenRoom: string, query: Readonly<Record<string, string>>): Promise<PlainMember> {
    const room = readRoom(givenRoom);
    const identity = await identify(context.accounts, query, randomBytes(3).toString('hex'));
    const { name, displayName, grant, expires } = identity;
    requireRoom(grant, 'join', room);
    let state: 'new' | 'in' | 'gone' = 'new';
    const member: PlainMember = {
      room,
      identity,
      expires,
      enter: async () => {
        if (state !== 'new') return;
        // The token may have been revoked since it was checked.
        if (context.revoked?.isRevoked(identity)) throw new GjallarError('TOKEN_REVOKED');
        state = 'in';
        this.size++;
        this.rooms.set(room, (this.rooms.get(room) ?? 0) + 1);
        context.presenceBroadcaster.watch(room);
        context.presenceRegistry.add(room, name, displayName);
        await context.conversations?.follow(room);
      },
      say: async (text) => {
        if (state !== 'in') throw new GjallarError('NOT_IN_ROOM');
        requireRoom(grant, 'publish', room);
        if (context.talkers.isDue()) context.talkers.add(name);
        return postToRoom(context, room, [{ from: name, text: readText(text), at: Date.now() }], { client: member });
      },
      leave: () => {
        if (state === 'in') {
          this.size--;
          const left = this.rooms.get(room)! - 1;
          if (left > 0) this.rooms.set(room, left);
          else this.rooms.delete(room);
          context.presenceRegistry.remove(room, name);
        }
        state = 'gone';
      },
    };
    return member;
  }
}
