import { queueMicrotask } from '../../../base/clock.js';
import type { Position } from '../store.js';
import { type Conversation, conversationOf, keyOf } from './conversation.js';
import type { Resequencer } from './resequencer.js';

/** How long a direct conversation is followed after its last message. */
const DIRECT_IDLE_MS = 60_000;
/** How many direct conversations a worker follows. */
export const MAX_DIRECT = 10_000;
/** How many of them count for one user. A user who writes to many names must not end those of other users. */
export const MAX_DIRECT_PER_USER = 1000;

export interface LocalMembers {
  hasRoom(room: string): boolean;
  hasUser(name: string): boolean;
}

interface Direct {
  resequencer: Resequencer;
  /** The local user whom the conversation is counted for. */
  owner: string;
}

/**
 * The conversations that this worker delivers. A room is followed as long as it has members here. A direct conversation
 * begins with its first message and ends after a while without any, when too many others have come since, or with the next one
 * once none of its users is here.
 */
export class FollowedConversations {
  private readonly rooms = new Map<string, Resequencer>();
  /** Those with the oldest message first. */
  private readonly directs = new Map<string, Direct>();
  private readonly owners = new Map<string, Set<string>>();

  constructor(
    private readonly members: LocalMembers,
    private readonly create: (key: string, conversation: Conversation) => Resequencer,
  ) {}

  get size(): number {
    return this.rooms.size + this.directs.size;
  }

  *[Symbol.iterator](): Iterator<Resequencer> {
    yield* this.rooms.values();
    for (const { resequencer } of this.directs.values()) yield resequencer;
  }

  known(key: string): Resequencer | undefined {
    return this.rooms.get(key) ?? this.directs.get(key)?.resequencer;
  }

  /** The room's resequencer, new and not started yet if there was none. */
  room(room: string): Resequencer {
    const conversation = { room };
    const key = keyOf(conversation);
    const known = this.rooms.get(key);
    if (known) return known;
    const resequencer = this.create(key, conversation);
    this.rooms.set(key, resequencer);
    return resequencer;
  }

  /** The resequencer for a message that has arrived; undefined if no user here takes part in the conversation. */
  resequencerFor(key: string, first: Position): Resequencer | undefined {
    const room = this.rooms.get(key);
    if (room) return room;
    const conversation = conversationOf(key);
    if ('room' in conversation) return undefined;
    const owner = conversation.users.find((user) => this.members.hasUser(user));
    if (owner === undefined) return void this.end(key);
    const direct = this.directs.get(key);
    if (direct) {
      this.touch(key, direct);
      return direct.resequencer;
    }
    const resequencer = this.create(key, conversation);
    this.touch(key, { resequencer, owner });
    this.endSurplus(owner);
    // Nothing comes before the first message of all.
    if (first.offset === 1) resequencer.startAfter({ offset: 0, tag: 0 });
    // With the messages that have come with the first one.
    else queueMicrotask(() => resequencer.startFrom(first));
    return resequencer;
  }

  /** Ends rooms without members here, and direct conversations without new messages. */
  endIdle(now = Date.now()): void {
    for (const key of this.rooms.keys()) {
      const conversation = conversationOf(key) as { room: string };
      if (!this.members.hasRoom(conversation.room)) this.end(key);
    }
    for (const [key, { resequencer }] of this.directs) {
      if (now - resequencer.lastUsed <= DIRECT_IDLE_MS) break;
      this.end(key);
    }
  }

  close(): void {
    for (const key of [...this.rooms.keys(), ...this.directs.keys()]) this.end(key);
  }

  /** Makes it the most recently used one. */
  private touch(key: string, direct: Direct): void {
    this.directs.delete(key);
    this.directs.set(key, direct);
    const owned = this.owners.get(direct.owner) ?? new Set();
    this.owners.set(direct.owner, owned);
    owned.delete(key);
    owned.add(key);
  }

  private endSurplus(owner: string): void {
    const owned = this.owners.get(owner)!;
    if (owned.size > MAX_DIRECT_PER_USER) this.end(owned.values().next().value!);
    if (this.directs.size > MAX_DIRECT) this.end(this.directs.keys().next().value!);
  }

  private end(key: string): void {
    this.rooms.get(key)?.close();
    this.rooms.delete(key);
    const direct = this.directs.get(key);
    if (!direct) return;
    direct.resequencer.close();
    this.directs.delete(key);
    const owned = this.owners.get(direct.owner)!;
    owned.delete(key);
    if (owned.size === 0) this.owners.delete(direct.owner);
  }
}
