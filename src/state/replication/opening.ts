import { setTimeout as after } from 'node:timers/promises';
import { own, owned } from '../../base/owner.js';
import { type Clock, systemClock } from '../../engine/clock.js';
import type { Change, Entries } from '../entries.js';
import { type HybridClock, NO_EPOCH, newEpoch } from '../version.js';
import type { Departures, Pulls } from './departures.js';
import { ANSWER_MS, type Answer, type Channel, type Progress, type Welcome } from './messages.js';
import { type Outgoing, Peer } from './peer.js';

/** A room as replication sees it. */
export interface Replica {
  readonly name: string;
  readonly entries: Entries;
  /** Names one life of the room, made by `newEpoch()`; NO_EPOCH until it is open. */
  epoch: string;
  /** The number of the last change that was sent to the other workers. */
  sent: number;
  /** Whether the room has what the others had when it was opened. */
  isReady: boolean;
  /** The keys that were changed here before that. */
  readonly early: Set<string>;
  /**
   * Reads what is stored, at most a few seconds long. Undefined for a room that is not stored.
   * @param isFilled whether another worker has given the room to this one
   */
  readonly load: ((isFilled: boolean) => Promise<void>) | undefined;
  /** Applies a change of another worker. */
  apply(change: Change): void;
  /** The state of the others is here. */
  ready(): void;
  /** A worker is gone. */
  onGone(): void;
  /** Versions of clients from before now may hide changes: they get snapshots. */
  distrust(): void;
}

/** The rooms of this worker by name. */
export type Replicas = ReadonlyMap<string, Replica>;

/** How long a client that has seen more than this worker waits for it, in ms. */
const MAX_WAIT_MS = 5000;
/** How long changes that were announced are waited for before the others are asked again, in ms. */
const ASK_AGAIN_MS = 200;
/** More clients than this do not wait: they get a snapshot. */
const MAX_WAITERS = 1000;
/** How often the clients that wait are looked at, at most, in ms: each message of another worker may let them in. */
const CHECK_MS = 20;

/** Whether this worker has what a client has seen: yes, not yet, or never. */
export type Standing = 'reached' | 'open' | 'lost';

interface Waiter {
  standing(): Standing;
  /** Whether the client still wants to know. */
  isWanted(): boolean;
  readonly until: number;
  done(isReached: boolean): void;
}

/** Clients that have seen changes which this worker may not have yet. */
export class Waiters {
  private list: Waiter[] = [];
  private isAsking = false;
  private timer: unknown;
  private checking: unknown;
  private checkedAt = Number.NEGATIVE_INFINITY;

  /** @param askOthers asks the other workers how far they are */
  constructor(
    private readonly askOthers: () => Promise<void>,
    private readonly clock: Clock = systemClock,
  ) {}

  add(standing: () => Standing, isWanted: () => boolean, done: (isReached: boolean) => void): void {
    const now = standing();
    if (now !== 'open' || this.list.length >= MAX_WAITERS) return done(now === 'reached');
    this.list.push({ standing, isWanted, done, until: this.clock.now() + MAX_WAIT_MS });
    own('asking the other workers how far they are', this.ask());
  }

  /** Call it when more has arrived. All who wait are looked at now, or in a moment. */
  check(): void {
    if (this.list.length === 0 || this.checking) return;
    const wait = this.checkedAt + CHECK_MS - this.clock.now();
    if (wait <= 0) return this.checkNow();
    this.checking = this.clock.setTimeout(this.checkLater, wait);
  }

  private readonly checkLater = owned('letting members of state rooms in', () => {
    this.checking = undefined;
    this.checkNow();
  });

  private checkNow(): void {
    const now = this.clock.now();
    this.checkedAt = now;
    const left: Waiter[] = [];
    for (const waiter of this.list.splice(0)) {
      // A client that joins again and again waits once.
      if (!waiter.isWanted()) continue;
      const standing = waiter.standing();
      if (standing === 'open' && now < waiter.until) left.push(waiter);
      else waiter.done(standing === 'reached');
    }
    this.list.push(...left);
    if (this.list.length > 0) this.timer ??= this.clock.setTimeout(this.again, ASK_AGAIN_MS);
  }

  close(): void {
    this.clock.clearTimeout(this.timer);
    this.clock.clearTimeout(this.checking);
    for (const { done } of this.list.splice(0)) done(false);
  }

  private readonly again = (): void => {
    this.timer = undefined;
    this.check();
    own('asking the other workers how far they are', this.ask());
  };

  private async ask(): Promise<void> {
    if (this.isAsking || this.list.length === 0) return;
    this.isAsking = true;
    await this.askOthers().finally(() => {
      this.isAsking = false;
    });
    this.check();
  }
}

/** How often a room that finds no other worker asks again, and how many times: adapters need a moment to find the others. */
const RETRY_MS = 100;
const MAX_HELLOS = 12;

/** What opening a room needs of the hub. */
interface OpeningHost {
  readonly node: string;
  readonly clock: HybridClock;
  readonly channel: Channel;
  readonly rooms: Replicas;
  readonly peers: Map<string, Peer>;
  readonly outgoing: Outgoing;
  readonly pulls: Pulls;
  readonly departures: Departures;
  readonly isClosed: boolean;
  peerOf(progress: Progress): Peer;
}

/**
 * How a worker opens a room: it asks everyone (`hello`), and pulls the whole room from one of those that have it; from each
 * other one, what that one had not received yet.
 */
export class Opening {
  /** Whether a room is open already: by then, this worker has had the time to find the others. */
  private isSettled = false;

  constructor(private readonly host: OpeningHost) {}

  /** Opens a room: what the others have comes first, and then what is stored. */
  async open(room: Replica): Promise<void> {
    const isFilled = await this.fillFromOthers(room);
    if (this.isOpen(room)) await room.load?.(isFilled);
    if (this.isOpen(room)) this.finish(room);
  }

  /** Opens a room that no other worker can have. */
  openAlone(room: Replica): void {
    if (!room.load) return this.finish(room);
    const loaded = room.load(false).then(() => {
      if (this.isOpen(room)) this.finish(room);
    });
    own('loading a state room', loaded);
  }

  /** Returns whether another worker had the room. */
  private async fillFromOthers(room: Replica): Promise<boolean> {
    const { peers, outgoing, channel, node: self } = this.host;
    for (let hellos = 0; this.isOpen(room); hellos++) {
      const isAlone = peers.size === 0;
      const hello = { type: 'hello', ...outgoing.flushed(), room: room.name } as const;
      const answers = await channel.ask(hello, peers.keys(), isAlone ? RETRY_MS : ANSWER_MS);
      const welcomes = answers.filter((answer) => answer.type === 'welcome');
      this.meet(welcomes);
      const donors = welcomes.filter(({ has }) => has === 'all');
      if (donors.length > 0) {
        if (await this.fill(room, donors[Math.floor(Math.random() * donors.length)]!, welcomes)) return true;
      } else {
        const opening = welcomes.filter(({ has }) => has === 'part');
        // Of several workers that start together, the first by name begins.
        const isFirst = opening.every(({ node }) => node > self);
        const isOnly = welcomes.length === 0 && isAlone && this.isSettled;
        if (isOnly || (welcomes.length > 0 && isFirst) || hellos >= MAX_HELLOS) break;
      }
      if (!isAlone) await after(RETRY_MS);
    }
    return false;
  }

  /** The answer to a worker that opens a room. */
  welcome(name: string): Welcome {
    const { rooms, peers } = this.host;
    const room = rooms.get(name);
    const known = [...peers].map(([node, { sequence, clock }]) => ({ node, sequence, clock }));
    return { type: 'welcome', has: room ? (room.isReady ? 'all' : 'part') : 'nothing', peers: known };
  }

  /** The room has everything that the others had. */
  private finish(room: Replica): void {
    const { node, clock, outgoing } = this.host;
    // A room that others have keeps their epoch, so that their clients can continue here.
    if (room.epoch === NO_EPOCH) room.epoch = newEpoch();
    // What was set here before now is newer than what the others had, and no other worker has heard of it.
    for (const entry of [...room.entries.after(0)]) {
      // The others may have older changes of this worker too, from an earlier life of the room here.
      const isEarly = entry.origin === node && room.early.has(entry.key);
      if (isEarly) room.apply({ ...entry, clock: clock.tick() });
    }
    room.early.clear();
    room.sent = 0;
    room.isReady = true;
    this.isSettled = true;
    outgoing.note(room);
    outgoing.flush();
    // Tells the others the epoch.
    outgoing.send(room, []);
    room.ready();
  }

  private isOpen(room: Replica): boolean {
    return !this.host.isClosed && this.host.rooms.get(room.name) === room;
  }

  private meet(welcomes: readonly (Answer & Welcome)[]): void {
    const { rooms, clock: own, peers } = this.host;
    const isNew = [...rooms.values()].every(({ isReady }) => !isReady);
    for (const welcome of welcomes) {
      const { node, sequence, clock } = welcome;
      own.heard(clock);
      if (!peers.has(node) && isNew) peers.set(node, new Peer(sequence, clock));
      else this.host.peerOf(welcome).claims(sequence, clock);
    }
  }

  /** Pulls a room from one worker, and from the others what that one had not received. */
  private async fill(
    room: Replica,
    donor: Answer & Welcome,
    welcomes: readonly (Answer & Welcome)[],
  ): Promise<boolean> {
    const { pulls, node: self, peers, departures } = this.host;
    const first = await pulls.pull(donor.node, room, 0);
    // It may have closed the room since it was asked for it.
    if (!first || first.epoch === NO_EPOCH) return false;
    // A worker that does not answer may be gone: others may have received more of it than the donor.
    for (const { node, sequence, clock } of donor.peers) {
      if (node !== self && !peers.has(node) && !departures.get(node)) peers.set(node, new Peer(sequence, clock));
    }
    for (const { node, sequence } of welcomes) {
      const known = donor.peers.find((peer) => peer.node === node);
      if (node === donor.node || (known && known.sequence >= sequence)) continue;
      if (!(await pulls.pull(node, room, known?.clock ?? 0))) return false;
    }
    return true;
  }
}
