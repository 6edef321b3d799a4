import { DurableRooms as Helper } from '../../public/gjallar-client.js';
import { createDurableRooms, type DurableRooms } from '../../src/features/history/index.js';
import type { ClientSocket } from './client-socket.js';
import type { Worker } from './machine.js';
import { Violation } from './model.js';
import type { Scheduler } from './scheduler.js';
import { StoreServer } from './store.js';

/** Their names begin with it. */
export const DURABLE = 'durable';
/** How often a message is repeated of which it is not known whether it is kept. */
const MAX_ATTEMPTS = 4;
/** When a client tries again to follow a room, in ms. */
const RETRY_MS = 500;

/** A message to a durable room. */
interface Post {
  readonly room: string;
  /** Which messages it is in the order of all: several, if the store has lost it and it was repeated. */
  readonly numbers: number[];
  /** Whether the application was told that it is kept. */
  isAcknowledged: boolean;
  /** Whether the application was told that it is not. */
  isRejected: boolean;
  /** When the store has lost it last, in ms. */
  lostMs: number | undefined;
  /** When it was sent to the store last, in ms. */
  sentMs: number;
  /** When the store has lost others while it was on its way to it, in ms. */
  overtakenMs: number | undefined;
}

/** A client in a room, as it sees it. */
interface Follower {
  readonly client: string;
  readonly room: string;
  /** It gets all messages after this one; undefined until it has joined. */
  from: number | undefined;
  /** The last message that it has received. */
  last: number;
  /** When it has received them, in ms. */
  readonly received: Map<string, number>;
  /** When it was told last that some are lost, in ms. */
  toldOfLossMs: number;
}

/** The durable rooms of all workers, what is sent to them, and what each client has received. */
export class Durables {
  readonly store: StoreServer;
  private readonly rooms = new Map<string, DurableRooms>();
  private readonly opened = new Set<DurableRooms>();
  private readonly posts = new Map<string, Post>();
  private readonly followers = new Set<Follower>();
  /** Whether the store was emptied, or is older than it was. */
  private mayHaveLost = false;
  /** When that was the last time, in ms. */
  private lossMs = Number.NEGATIVE_INFINITY;
  /** The number of the last message that the store has kept. */
  private last = 0;

  constructor(private readonly scheduler: Scheduler) {
    this.store = new StoreServer(scheduler, {
      onAppend: (text) => {
        const post = this.postOf(text);
        post.numbers.push(++this.last);
        post.overtakenMs = post.sentMs <= this.lossMs ? this.lossMs : undefined;
      },
      onLost: (texts) => {
        this.mayHaveLost = true;
        this.lossMs = scheduler.now;
        for (const text of texts) this.postOf(text).lostMs = scheduler.now;
      },
    });
  }

  private postOf(text: string): Post {
    return this.posts.get(/machine\d+w\d+:\d+/.exec(text)![0])!;
  }

  open({ io, name, process }: Worker): void {
    const store = this.store.connect(process);
    const opening = createDurableRooms(io!, { rooms: `${DURABLE}*`, store, mayJoin: () => true, onError: () => {} });
    process.onEnd.push(() => this.rooms.delete(name));
    opening.then((rooms) => {
      this.opened.add(rooms);
      this.rooms.set(name, rooms);
    }, this.scheduler.fail);
  }

  async post({ io, name }: Worker, number: number): Promise<void> {
    const rooms = this.rooms.get(name);
    if (!rooms) return;
    const room = `${DURABLE}${number}`;
    const key = `${name}:${this.posts.size + 1}`;
    const post: Post = {
      ...{ room, numbers: [], isAcknowledged: false, isRejected: false },
      ...{ lostMs: undefined, sentMs: this.scheduler.now, overtakenMs: undefined },
    };
    this.posts.set(key, post);
    if (this.posts.size % 4 === 0) return void io!.to(room).emit('d', key);
    let isOpen = false;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      post.sentMs = this.scheduler.now;
      try {
        await rooms.to(room, { key }).emit('d', key);
        post.isAcknowledged = true;
        return;
      } catch (error) {
        const { code } = error as { code?: string };
        if (code === 'HISTORY_UNCERTAIN') isOpen = true;
        else if (code === 'HISTORY_UNAVAILABLE') {
          post.isRejected = !isOpen;
          return;
        } else throw error;
      }
    }
  }

  /** The helper of a client, which follows rooms with it. */
  clientOf(client: string, socket: ClientSocket): DurableClient {
    return new DurableClient(client, socket, this.scheduler, {
      joining: (room) => this.joining(client, room),
      joined: (follower) => {
        follower.from = this.last;
      },
      left: (follower) => this.followers.delete(follower),
      received: (follower, key) => this.received(follower, key),
      recovered: (follower, isComplete) => this.recovered(follower, isComplete),
    });
  }

  private joining(client: string, room: string): Follower {
    const follower = { client, room, from: undefined, last: 0, received: new Map<string, number>(), toldOfLossMs: 0 };
    this.followers.add(follower);
    return follower;
  }

  private received(follower: Follower, key: string): void {
    const post = this.posts.get(key)!;
    const what = `${follower.client} has received ${key} to ${post.room}`;
    if (post.room !== follower.room || post.numbers.length === 0) throw new Violation('durable: not kept', what);
    if (post.isRejected) throw new Violation('durable: rejected', what);
    // After a loss, one that was repeated is another one.
    const number = post.numbers.find((one) => one > follower.last);
    if (number === undefined) throw new Violation('durable: once and in order', `${what} after ${follower.last}`);
    follower.last = number;
    if (!follower.received.has(key)) follower.received.set(key, this.scheduler.now);
  }

  private recovered(follower: Follower, isComplete: boolean): void {
    if (isComplete) return;
    if (!this.mayHaveLost) throw new Violation('durable: no loss', `${follower.client} is told that messages are lost`);
    follower.toldOfLossMs = this.scheduler.now;
  }

  /** A last message to each room, which shows what those before it lack. */
  async end(worker: Worker): Promise<void> {
    for (const room of new Set([...this.followers].map((one) => one.room)))
      await this.post(worker, Number(room.slice(DURABLE.length)));
  }

  /** Before that: what was acknowledged has arrived, also where no other message shows that it lacks. */
  hasArrived(): void {
    if (!this.mayHaveLost) this.complete(({ isAcknowledged }) => isAcknowledged);
  }

  complete(isDue: (post: Post) => boolean = () => true): void {
    for (const follower of this.followers) {
      const { client, room, from, received, toldOfLossMs } = follower;
      if (from === undefined) throw new Violation('durable: not joined', `${client} does not follow ${room}`);
      for (const [key, post] of this.posts) {
        if (post.room !== room) continue;
        const { lostMs = Number.NEGATIVE_INFINITY } = post;
        const receivedMs = received.get(key);
        if (receivedMs !== undefined && receivedMs < lostMs && toldOfLossMs < lostMs)
          throw new Violation('durable: silent loss', `${client} is not told that ${key} to ${room} is lost`);
        const number = post.numbers.at(-1) ?? 0;
        // Its tag may be lower than that of a message that was received, and lost.
        if (post.overtakenMs !== undefined && toldOfLossMs > post.overtakenMs) continue;
        if (number > from && receivedMs === undefined && post.lostMs === undefined && isDue(post))
          throw new Violation('durable: lost', `${client} has not received ${key} to ${room}`);
      }
    }
  }

  get isOpenThere(): readonly [string, DurableRooms][] {
    return [...this.rooms];
  }

  /** Ends what is registered in this process. */
  close(): void {
    for (const rooms of this.opened) rooms.close().catch(this.scheduler.fail);
  }
}

interface DurableClientEvents {
  joining(room: string): Follower;
  joined(follower: Follower): void;
  left(follower: Follower): void;
  received(follower: Follower, key: string): void;
  recovered(follower: Follower, isComplete: boolean): void;
}

/** A client that follows durable rooms with the helper of `gjallar/client`. */
export class DurableClient {
  private readonly helper: Helper;
  private readonly followed = new Map<string, Follower>();

  constructor(
    readonly client: string,
    private readonly socket: ClientSocket,
    private readonly scheduler: Scheduler,
    private readonly events: DurableClientEvents,
  ) {
    this.helper = new Helper(socket as never);
  }

  follow(room: string): void {
    if (this.followed.has(room) || !this.socket.connected) return;
    const follower = this.events.joining(room);
    this.followed.set(room, follower);
    const isFollowed = () => this.followed.get(room) === follower;
    const options = {
      onMessage: ({ values: [key] }: { values: unknown[] }) => {
        try {
          if (isFollowed()) this.events.received(follower, key as string);
        } catch (error) {
          this.scheduler.fail(error);
        }
      },
      onRecovered: ({ complete }: { complete: boolean }) => {
        try {
          if (isFollowed()) this.events.recovered(follower, complete);
        } catch (error) {
          this.scheduler.fail(error);
        }
      },
    };
    const join = () =>
      this.helper.join(room, options).then(
        () => isFollowed() && this.events.joined(follower),
        () => {
          setTimeout(() => isFollowed() && join(), RETRY_MS);
        },
      );
    join();
  }

  unfollow(room: string): void {
    const follower = this.followed.get(room);
    if (!follower) return;
    this.followed.delete(room);
    this.events.left(follower);
    this.helper.leave(room).catch(() => {});
  }

  close(): void {
    for (const follower of this.followed.values()) this.events.left(follower);
    this.followed.clear();
    this.helper.close();
  }
}
