import { randomBytes } from 'node:crypto';
import { GjallarError } from '../errors.js';
import type { ChatContext } from './context.js';
import { readName, readRoom, readText } from './input.js';
import { postToRoom } from './post.js';

/** A member without Socket.IO, who is in one room and gets its texts alone. */
export interface PlainMember {
  readonly room: string;
  enter(): Promise<void>;
  say(text: string): Promise<unknown>;
  leave(): void;
}

/** How texts reach the plain members on this worker. */
export interface PlainDelivery {
  publish(room: string, text: string): void;
}

/** This worker's members without Socket.IO: the roster counts them like all others. */
export class PlainMembers {
  private readonly rooms = new Map<string, number>();

  constructor(private readonly delivery: PlainDelivery | undefined) {}

  has(room: string): boolean {
    return this.rooms.has(room);
  }

  deliver(room: string, text: string): void {
    if (this.has(room)) this.delivery?.publish(room, text);
  }

  /** @throws GjallarError BAD_ROOM, BAD_NAME */
  admit(context: ChatContext, givenRoom: string, query: Readonly<Record<string, string>>): PlainMember {
    const room = readRoom(givenRoom);
    const name = query.name === undefined ? `guest-${randomBytes(3).toString('hex')}` : readName(query.name);
    let state: 'new' | 'in' | 'gone' = 'new';
    return {
      room,
      enter: async () => {
        if (state !== 'new') return;
        state = 'in';
        this.rooms.set(room, (this.rooms.get(room) ?? 0) + 1);
        context.presence.watch(room);
        context.roster.add(room, name);
        await context.conversations?.follow({ room });
      },
      say: async (text) => {
        if (state !== 'in') throw new GjallarError('NOT_IN_ROOM');
        return postToRoom(context, room, [{ from: name, text: readText(text), at: Date.now() }]);
      },
      leave: () => {
        if (state === 'in') {
          const left = this.rooms.get(room)! - 1;
          if (left > 0) this.rooms.set(room, left);
          else this.rooms.delete(room);
          context.roster.remove(room, name);
        }
        state = 'gone';
      },
    };
  }
}
