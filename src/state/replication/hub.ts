import { randomBytes } from 'node:crypto';
import { setTimeout as after } from 'node:timers/promises';
import type { Namespace } from 'socket.io';
import { MalformedMessage } from '../../errors.js';
import { HybridClock } from '../clock.js';
import type { Change, Entries } from '../entries.js';
import type { ClientVersion } from '../version.js';
import { Channel } from './channel.js';
import { Departures } from './departures.js';
import type { Answer, Message, News, Page, Progress, Question, Rest, Welcome, WireChange } from './messages.js';
import * as messages from './messages.js';
import { ANSWER_MS } from './messages.js';
import { Peer } from './peer.js';
import { type Standing, Waiters } from './waiters.js';

/** A room as replication sees it. */
export interface Replica {
  readonly name: string;
  readonly entries: Entries;
  /** Names one life of the room. Of two that meet, the smaller one stays. */
  epoch: string;
  /** The number of the last change that was sent to the other workers. */
  sent: number;
  /** Whether the room has what the others had when it was opened. */
  isReady: boolean;
  /** The keys that were changed here before that. */
  readonly early: Set<string>;
  /** Applies a change of another worker. */
  apply(change: Change): void;
  /** The state of the others is here. */
  ready(): void;
  /** Versions of clients from before now may hide changes: they get snapshots. */
  distrust(): void;
}

/** How often a worker tells the others how far it is, in ms. */
const BEAT_MS = 1000;
/** After this time without a word, a worker counts as gone, in ms. */
const MAX_SILENCE_MS = 6000;
/** Messages that overtake others are waited for before the missing ones are asked for, in ms. */
const OVERTAKEN_MS = 50;
/** How often a room that finds no other worker asks again, and how many times: adapters need a moment to find the others. */
const RETRY_MS = 100;
const MAX_HELLOS = 12;
/** Greater than every epoch. */
const LAST_EPOCH = '~';
/** Approximate size of a message between workers. */
const PAGE_BYTES = 262_144;

/**
 * Keeps the state rooms of a namespace the same on all workers and machines.
 *
 * - Each worker sends its own changes to all others, once per window, in numbered messages. Each message and each beat says
 *   up to what time on the sender's clock it has sent everything. `complete` is the earliest of these times: this worker
 *   has every change, of any worker, up to it.
 * - If a number is missing, the worker asks the sender for what it has changed since the last one (`pull`).
 * - A worker that opens a room asks everyone (`hello`), and pulls the whole room from one of those that have it; from each
 *   other one, what that one had not received yet.
 * - What a worker that was killed had sent to some of the others, these give to the rest; see {@link Departures}.
 */
export class Hub {
  /** Names this worker, uniquely in the cluster and over time. */
  readonly node = randomBytes(9).toString('base64url');
  readonly clock = new HybridClock();
  /** Messages of others that were dropped because they cannot be used. */
  malformed = 0;
  private readonly rooms = new Map<string, Replica>();
  /** Rooms with changes that the others have not been sent. */
  private readonly changed = new Set<Replica>();
  private readonly peers = new Map<string, Peer>();
  private readonly channel: Channel;
  private readonly waiters = new Waiters(() => this.ping());
  private readonly departures: Departures;
  private sequence = 0;
  /** Up to this time, the others have been sent everything. */
  private sentUpTo = 0;
  private timer: NodeJS.Timeout | undefined;
  private lastBeat = 0;
  /** Whether a room is open already: by then, this worker has had the time to find the others. */
  private isSettled = false;
  private isClosed = false;

  constructor(nsp: Namespace) {
    this.channel = new Channel(nsp);
    this.channel.listen((message) => this.receive(message));
    this.departures = new Departures({
      node: this.node,
      peers: this.peers,
      channel: this.channel,
      clock: this.clock,
      roomsWith: (origin, since) => this.roomsWith(origin, since),
      pullOf: (donor, room, origin, since) => this.pullOf(donor, room, origin, since),
      onGone: () => this.waiters.check(),
    });
    this.lastBeat = performance.now();
    this.timer = setInterval(() => this.beat(), BEAT_MS);
    this.timer.unref();
  }

  /** Whether no other worker can have the rooms. */
  get isAlone(): boolean {
    return !this.channel.hasOthers;
  }

  get isEmpty(): boolean {
    return this.rooms.size === 0;
  }

  add(room: Replica): void {
    this.rooms.set(room.name, room);
    if (this.isAlone) this.finish(room);
    else void this.open(room);
  }

  remove(room: Replica): void {
    this.rooms.delete(room.name);
    this.changed.delete(room);
  }

  close(): void {
    this.isClosed = true;
    clearInterval(this.timer);
    this.waiters.close();
    this.channel.send({ type: 'bye', ...this.flushed() });
    this.channel.close();
  }

  /** The time up to which this worker has every change of every worker, or of all but one. */
  complete(except?: string): number {
    let complete = this.clock.tick();
    for (const [node, peer] of this.peers) if (node !== except) complete = Math.min(complete, peer.clock);
    return complete;
  }

  /** Calls back once this worker has every change that a client may have seen, or as soon as it cannot get them. */
  reach(room: Replica, version: ClientVersion, done: (isReached: boolean) => void): void {
    this.waiters.add(() => this.standing(room, version), done);
  }

  private standing({ name }: Replica, version: ClientVersion): Standing {
    const { latest, writer } = version;
    if (writer?.node === this.node) return 'reached';
    const peer = writer && (this.peers.get(writer.node) ?? this.departures.get(writer.node));
    const hasOwn = writer && peer?.hasOwn(name, writer.own);
    if (this.complete(hasOwn ? writer.node : undefined) < latest) return 'open';
    if (!writer || this.peers.has(writer.node)) return 'reached';
    // A worker that was killed may have shown its members more than it could send.
    return hasOwn && this.departures.hasAllOf(writer.node, version) ? 'reached' : 'lost';
  }

  /** A room has a change of this worker. */
  note(room: Replica): void {
    if (room.isReady) this.changed.add(room);
  }

  /** Sends this worker's own changes to the others. */
  flush(): void {
    for (const room of this.changed) {
      this.changed.delete(room);
      const { entries, sent } = room;
      room.sent = entries.seq;
      let changes: WireChange[] = [];
      let bytes = 0;
      for (const entry of entries.after(sent)) {
        if (entry.origin !== this.node) continue;
        changes.push(messages.toWire(entry, this.node));
        bytes += entry.bytes;
        if (bytes < PAGE_BYTES) continue;
        this.sendChanges(room, changes);
        changes = [];
        bytes = 0;
      }
      if (changes.length > 0) this.sendChanges(room, changes);
    }
    this.sentUpTo = this.clock.tick();
  }

  private sendChanges({ name, epoch }: Replica, changes: WireChange[]): void {
    this.sequence++;
    // Later changes may be older than this moment, so it says nothing of the time.
    this.channel.send({ type: 'changes', ...this.progress, room: name, epoch, changes });
  }

  private get progress(): Progress {
    return { node: this.node, sequence: this.sequence, clock: this.sentUpTo };
  }

  /** How far this worker is, once it has sent everything. */
  private flushed(): Progress {
    this.flush();
    return this.progress;
  }

  private beat(): void {
    const now = performance.now();
    // After a stall of this worker, what the others have said is still unread.
    const isLate = now - this.lastBeat > 2 * BEAT_MS;
    this.lastBeat = now;
    this.channel.send({ type: 'beat', ...this.flushed() });
    if (isLate && this.peers.size > 0) {
      // The others may have taken it for gone, and let their clients believe that they have everything.
      for (const room of this.rooms.values()) room.distrust();
      return;
    }
    for (const [node, peer] of this.peers) {
      if (now - peer.heardAt > MAX_SILENCE_MS) void this.departures.lose(node, peer);
    }
    this.waiters.check();
  }

  private receive(given: unknown): void {
    try {
      const message = messages.check(given);
      if (message.node === this.node) return;
      if ('to' in message && message.to !== this.node) return;
      this.handle(message);
    } catch (error) {
      if (!(error instanceof MalformedMessage)) throw error;
      this.malformed++;
    }
  }

  private handle(message: Message): void {
    switch (message.type) {
      case 'changes': {
        const changes = message.changes.map((change) => messages.fromWire(change, message.node));
        const peer = this.peerOf(message);
        this.adopt(message.room, message.epoch, changes);
        peer.received(message.sequence, message.clock);
        peer.changed(message.room, changes.at(-1)?.clock ?? 0);
        break;
      }
      case 'beat':
        this.peerOf(message).claims(message.sequence, message.clock);
        break;
      case 'bye':
        this.bye(message);
        break;
      case 'hello':
        this.clock.heard(message.clock);
        // A worker that has just started has not sent anything that could be missing.
        if (message.sequence === 0 && !this.peers.has(message.node)) {
          this.peers.set(message.node, new Peer(0, message.clock));
        } else this.peerOf(message).claims(message.sequence, message.clock);
        return this.answer(message, this.welcome(message.room));
      case 'ping':
        return this.answer(message, { type: 'pong' });
      case 'pull':
        if (message.of === this.node) this.answer(message, this.page(message));
        return;
      case 'lost':
        if (message.of === this.node) this.channel.send({ type: 'beat', ...this.flushed() });
        else this.answer(message, this.departures.answerTo(message));
        return;
      default:
        return this.channel.answered(message);
    }
    const peer = this.peers.get(message.node);
    if (peer?.hasGap) void this.closeGap(message.node, peer);
    this.waiters.check();
  }

  private bye({ node, sequence, clock }: News & { type: 'bye' }): void {
    const peer = this.peers.get(node);
    if (!peer) return;
    if (sequence !== undefined && clock !== undefined) peer.claims(sequence, clock);
    if (peer.hasGap) void this.departures.lose(node, peer);
    else this.departures.left(node, peer);
  }

  private answer({ node: to, id }: Question, content: Welcome | { type: 'pong' } | Page | Rest): void {
    this.channel.send({ ...this.flushed(), to, id, ...content });
  }

  /** A worker that was not known may have changed something that clients of this one believe to have. */
  private peerOf({ node, clock }: Progress): Peer {
    this.clock.heard(clock);
    const known = this.peers.get(node);
    if (known) return known;
    const peer = this.departures.back(node) ?? new Peer(0, 0);
    this.peers.set(node, peer);
    for (const room of this.rooms.values()) room.distrust();
    return peer;
  }

  private adopt(name: string, epoch: string, changes: Iterable<Change>): void {
    const room = this.rooms.get(name);
    if (!room) return;
    if (epoch < room.epoch) room.epoch = epoch;
    for (const change of changes) {
      this.clock.heard(change.clock);
      room.apply(change);
    }
  }

  private welcome(name: string): Welcome {
    const room = this.rooms.get(name);
    const peers = [...this.peers].map(([node, { sequence, clock }]) => ({ node, sequence, clock }));
    return { type: 'welcome', has: room ? (room.isReady ? 'all' : 'part') : 'nothing', peers };
  }

  private page({ room: name, since, after: from, origin }: Question & { type: 'pull' }): Page {
    const room = this.rooms.get(name);
    const changes: WireChange[] = [];
    if (!room) return { type: 'page', epoch: LAST_EPOCH, forgotten: 0, changes };
    // What the answer says of this worker's progress must be in what is read here.
    this.flush();
    const { entries, epoch } = room;
    const page: Page = { type: 'page', epoch, forgotten: entries.forgottenClock, changes };
    let bytes = 0;
    for (const entry of entries.after(from)) {
      if (entry.clock <= since || (origin !== undefined && entry.origin !== origin)) continue;
      if (bytes > PAGE_BYTES) {
        page.next = entry.seq - 1;
        break;
      }
      changes.push(messages.toWire(entry, this.node));
      bytes += entry.bytes;
    }
    return page;
  }

  /** Opens a room: what the others have comes first. */
  private async open(room: Replica): Promise<void> {
    for (let hellos = 0; !this.isClosed && this.rooms.get(room.name) === room; hellos++) {
      const isAlone = this.peers.size === 0;
      const hello = { type: 'hello', ...this.flushed(), room: room.name } as const;
      const answers = await this.channel.ask(hello, this.peers.keys(), isAlone ? RETRY_MS : ANSWER_MS);
      const welcomes = answers.filter((answer) => answer.type === 'welcome');
      this.meet(welcomes);
      const donors = welcomes.filter(({ has }) => has === 'all');
      if (donors.length > 0) {
        if (await this.fill(room, donors[Math.floor(Math.random() * donors.length)]!, welcomes)) break;
      } else {
        const opening = welcomes.filter(({ has }) => has === 'part');
        // Of several workers that start together, the first by name begins.
        const isFirst = opening.every(({ node }) => node > this.node);
        const isOnly = welcomes.length === 0 && isAlone && this.isSettled;
        if (isOnly || (welcomes.length > 0 && isFirst) || hellos >= MAX_HELLOS) break;
      }
      if (!isAlone) await after(RETRY_MS);
    }
    if (!this.isClosed && this.rooms.get(room.name) === room) this.finish(room);
  }

  private meet(welcomes: readonly (Answer & Welcome)[]): void {
    const isNew = [...this.rooms.values()].every(({ isReady }) => !isReady);
    for (const welcome of welcomes) {
      const { node, sequence, clock } = welcome;
      this.clock.heard(clock);
      if (!this.peers.has(node) && isNew) this.peers.set(node, new Peer(sequence, clock));
      else this.peerOf(welcome).claims(sequence, clock);
    }
  }

  /** Pulls a room from one worker, and from the others what that one had not received. */
  private async fill(
    room: Replica,
    donor: Answer & Welcome,
    welcomes: readonly (Answer & Welcome)[],
  ): Promise<boolean> {
    const first = await this.pull(donor.node, room, 0);
    // It may have closed the room since it was asked for it.
    if (!first || first.epoch === LAST_EPOCH) return false;
    // A worker that does not answer may be gone: others may have received more of it than the donor.
    for (const { node, sequence, clock } of donor.peers) {
      if (node !== this.node && !this.peers.has(node) && !this.departures.get(node)) {
        this.peers.set(node, new Peer(sequence, clock));
      }
    }
    for (const { node, sequence } of welcomes) {
      const known = donor.peers.find((peer) => peer.node === node);
      if (node === donor.node || (known && known.sequence >= sequence)) continue;
      if (!(await this.pull(node, room, known?.clock ?? 0))) return false;
    }
    return true;
  }

  private finish(room: Replica): void {
    // What was set here before now is newer than what the others had, and no other worker has heard of it.
    for (const entry of [...room.entries.after(0)]) {
      // The others may have older changes of this worker too, from an earlier life of the room here.
      const isEarly = entry.origin === this.node && room.early.has(entry.key);
      if (isEarly) room.apply({ ...entry, clock: this.clock.tick() });
    }
    room.early.clear();
    room.sent = 0;
    room.isReady = true;
    this.isSettled = true;
    this.note(room);
    this.flush();
    // Tells the others the epoch.
    this.sendChanges(room, []);
    room.ready();
  }

  /** Asks a worker for messages that are missing. */
  private async closeGap(node: string, peer: Peer): Promise<void> {
    if (peer.isPulling) return;
    peer.isPulling = true;
    await after(OVERTAKEN_MS);
    while (peer.hasGap && !this.isClosed && this.peers.get(node) === peer) {
      let first: (Answer & Page) | undefined;
      let isWhole = true;
      for (const room of this.rooms.values()) {
        const page = await this.pull(node, room, peer.clock);
        first ??= page;
        isWhole &&= page !== undefined;
      }
      if (first && isWhole) peer.caughtUp(first.sequence, first.clock);
      if (peer.hasGap) await after(RETRY_MS);
    }
    peer.isPulling = false;
    this.waiters.check();
  }

  /**
   * Pulls the changes of a room after a time from one worker.
   * @returns the first page, which says how far that worker was; undefined if it did not answer
   */
  private async pull(
    node: string,
    room: Replica,
    since: number,
    origin?: string,
  ): Promise<(Answer & Page) | undefined> {
    let first: (Answer & Page) | undefined;
    let next: number | undefined = 0;
    const listed = new Set<string>();
    while (next !== undefined) {
      const asked = { type: 'pull' as const, node: this.node, of: node, room: room.name, since, after: next };
      const question = origin === undefined ? asked : { ...asked, origin };
      const [page]: readonly Answer[] = await this.channel.ask(question, [node], ANSWER_MS);
      if (page?.type !== 'page') return undefined;
      // Deletions may be missing: everything is needed, to see what is gone.
      if (since > 0 && since < page.forgotten) return this.pull(node, room, 0);
      first ??= page;
      this.clock.heard(page.clock);
      const changes = page.changes.map((change) => messages.fromWire(change, node));
      for (const { key } of changes) listed.add(key);
      this.adopt(room.name, page.epoch, changes);
      next = page.next;
    }
    if (since === 0 && first && origin === undefined) this.forget(room, first, listed);
    return first;
  }

  private roomsWith(origin: string, since: number): string[] {
    const hasSome = ({ entries }: Replica) =>
      entries.maxClock > since && [...entries.after(0)].some((entry) => entry.origin === origin && entry.clock > since);
    return [...this.rooms.values()].filter(hasSome).map(({ name }) => name);
  }

  private async pullOf(donor: string, name: string, origin: string, since: number): Promise<boolean> {
    const room = this.rooms.get(name);
    return !room || (await this.pull(donor, room, since, origin)) !== undefined;
  }

  /** Deletes what a worker with everything does not have any more, and whose deletion it has forgotten. */
  private forget(room: Replica, { forgotten, node }: Answer & Page, listed: ReadonlySet<string>): void {
    if (forgotten === 0) return;
    const { entries } = room;
    // What was set here before the room was open is not known to others, and will be newer.
    const isOlder = ({ key, clock }: Change) => clock <= forgotten && !room.early.has(key);
    const gone = [...entries.present()].filter((entry) => isOlder(entry) && !listed.has(entry.key));
    for (const { key } of gone) room.apply({ key, clock: forgotten, origin: `${node}~`, value: undefined });
    entries.forgottenClock = Math.max(entries.forgottenClock, forgotten);
  }

  private async ping(): Promise<void> {
    const asked = [...this.peers];
    const answers = await this.channel.ask({ type: 'ping', node: this.node }, this.peers.keys(), ANSWER_MS);
    for (const answer of answers) this.peerOf(answer).claims(answer.sequence, answer.clock);
    const there = new Set(answers.map(({ node }) => node));
    const silent = asked.filter(([node, peer]) => !there.has(node) && this.peers.get(node) === peer);
    await Promise.all(silent.map(([node, peer]) => this.departures.lose(node, peer)));
    for (const [node, peer] of this.peers) if (peer.hasGap) void this.closeGap(node, peer);
  }
}
