import { randomBytes } from 'node:crypto';
import type { Namespace } from 'socket.io';
import { own, owned } from '../../base/owner.js';
import { type ClientVersion, HybridClock } from '../version.js';
import { Departures, MAX_SKEW, Pulls } from './departures.js';
import { ANSWER_MS, type Answer, Channel, type Progress } from './messages.js';
import { Opening, type Replica, type Standing, Waiters } from './opening.js';
import { closeGap, Incoming, Outgoing, Peer } from './peer.js';

/** How often a worker tells the others how far it is, in ms. */
const BEAT_MS = 1000;
/** How long the answers of the others are waited for before a value is read that one of them may have changed, in ms. */
const CATCH_UP_MS = 1000;
/** After this time without a word, a worker counts as gone, in ms. */
const MAX_SILENCE_MS = 6000;

/**
 * Keeps the state rooms of a namespace the same on all workers and machines.
 *
 * - Each worker sends its own changes to all others, once per window, in numbered messages; see {@link Outgoing}. Each
 *   message and each beat says up to what time on the sender's clock it has sent everything. `complete` is the earliest of
 *   these times: this worker has every change, of any worker, up to it.
 * - If a number is missing, the worker asks the sender for what it has changed since the last one; see {@link closeGap}.
 * - A worker that opens a room gets it from the others first; see {@link Opening}.
 * - What a worker that was killed had sent to some of the others, these give to the rest; see {@link Departures}.
 */
export class Hub {
  /** Names this worker, uniquely in the cluster and over time. */
  readonly node = randomBytes(9).toString('base64url');
  readonly clock = new HybridClock();
  readonly rooms = new Map<string, Replica>();
  readonly peers = new Map<string, Peer>();
  readonly channel: Channel;
  readonly outgoing: Outgoing;
  readonly pulls: Pulls;
  readonly departures: Departures;
  readonly opening: Opening;
  isClosed = false;
  private readonly incoming: Incoming;
  private readonly waiters = new Waiters(() => this.ping());
  private readonly timer: NodeJS.Timeout;
  private lastBeat = performance.now();
  private asking: Promise<unknown> = Promise.resolve();
  private nextQuestion: Promise<void> | undefined;

  constructor(nsp: Namespace) {
    this.channel = new Channel(nsp);
    this.channel.listen((message) => this.incoming.receive(message));
    this.outgoing = new Outgoing(this.node, this.clock, this.channel);
    this.pulls = new Pulls(this);
    this.departures = new Departures({
      node: this.node,
      peers: this.peers,
      channel: this.channel,
      clock: this.clock,
      roomsWith: (origin, since) => this.pulls.roomsWith(origin, since),
      pullOf: (donor, room, origin, since) => this.pulls.pullOf(donor, room, origin, since),
      onGone: () => {
        this.waiters.check();
        for (const room of this.rooms.values()) room.onGone();
      },
    });
    this.opening = new Opening(this);
    this.incoming = new Incoming(this);
    this.timer = setInterval(
      owned('telling others of state rooms', () => this.beat()),
      BEAT_MS,
    );
    this.timer.unref();
  }

  /** Whether no other worker can have the rooms. */
  get isAlone(): boolean {
    return !this.channel.hasOthers;
  }

  /** Whether this worker is the first of all by name, and does what one of them must do. */
  get isFirst(): boolean {
    return [...this.peers.keys()].every((node) => node > this.node);
  }

  add(room: Replica): void {
    this.rooms.set(room.name, room);
    if (this.isAlone) this.opening.openAlone(room);
    else own('opening a state room', this.opening.open(room));
  }

  remove(room: Replica): void {
    // The others get what was set last.
    this.outgoing.flush();
    this.rooms.delete(room.name);
    for (const peer of this.peers.values()) peer.closed(room.name);
    this.outgoing.remove(room);
  }

  close(): void {
    this.isClosed = true;
    clearInterval(this.timer);
    this.channel.send({ type: 'bye', ...this.outgoing.flushed() });
    this.channel.close();
    this.waiters.close();
  }

  /** The time up to which this worker has every change of every worker, or of all but one. */
  complete(except?: string): number {
    let complete = this.clock.tick();
    for (const [node, peer] of this.peers) if (node !== except) complete = Math.min(complete, peer.clock);
    return complete;
  }

  /**
   * Calls back once this worker has every change that a client may have seen, or as soon as it cannot get them.
   * @param isWanted whether the client is still there; once it is not, nothing is called
   */
  reach(room: Replica, version: ClientVersion, isWanted: () => boolean, done: (isReached: boolean) => void): void {
    this.waiters.add(() => this.standing(room, version), isWanted, done);
  }

  /** Resolves once this worker has what the others had changed before the call, those that answer within a second. */
  caughtUp(): Promise<void> {
    // Callers during a question share the next one.
    this.nextQuestion ??= this.asking.then(async () => {
      this.nextQuestion = undefined;
      if (this.isAlone || this.peers.size === 0) return;
      const answers = this.askAll(CATCH_UP_MS);
      this.asking = answers;
      await answers;
    });
    return this.nextQuestion;
  }

  /** A room has a change of this worker. */
  note(room: Replica): void {
    this.outgoing.note(room);
  }

  /** As note(), for a room by its name. */
  noteOwn(name: string): void {
    const room = this.rooms.get(name);
    if (room) this.note(room);
  }

  /** Sends this worker's own changes to the others. */
  flush(): void {
    this.outgoing.flush();
  }

  /**
   * A worker that was not known may have changed something that clients of this one believe to have.
   * @throws MalformedMessage if there are too many
   */
  peerOf({ node, clock }: Progress): Peer {
    this.clock.heard(clock);
    const known = this.peers.get(node);
    if (known) return known;
    const peer = this.departures.get(node) ?? new Peer(0, 0);
    this.peers.set(node, peer);
    this.departures.back(node);
    for (const room of this.rooms.values()) room.distrust();
    return peer;
  }

  private standing({ name }: Replica, version: ClientVersion): Standing {
    const { latest, writer } = version;
    if (writer?.node === this.node) return 'reached';
    // No worker has such a clock, so a client has made it up: the others need not be asked.
    if (latest > this.clock.tick() + MAX_SKEW) return 'lost';
    const peer = writer && (this.peers.get(writer.node) ?? this.departures.get(writer.node));
    const hasOwn = writer && peer?.hasOwn(name, writer.own);
    if (this.complete(hasOwn ? writer.node : undefined) < latest) return 'open';
    if (!writer || this.peers.has(writer.node)) return 'reached';
    // A worker that was killed may have shown its members more than it could send.
    return hasOwn && this.departures.hasAllOf(writer.node, version) ? 'reached' : 'lost';
  }

  private beat(): void {
    const now = performance.now();
    // After a stall of this worker, what the others have said is still unread.
    const isLate = now - this.lastBeat > 2 * BEAT_MS;
    this.lastBeat = now;
    this.channel.send({ type: 'beat', ...this.outgoing.flushed() });
    if (isLate && this.peers.size > 0) {
      // The others may have taken it for gone, and let their clients believe that they have everything.
      for (const room of this.rooms.values()) room.distrust();
      return;
    }
    for (const [node, peer] of this.peers) {
      if (now - peer.heardAt > MAX_SILENCE_MS) own('noting that a worker is gone', this.departures.lose(node, peer));
    }
    this.waiters.check();
  }

  /** A message of another worker has been handled; some before it may be missing. */
  onNews(node: string): void {
    const peer = this.peers.get(node);
    if (peer?.hasGap) own('asking for missing changes', this.closeGap(node, peer));
    this.waiters.check();
  }

  private async closeGap(node: string, peer: Peer): Promise<void> {
    await closeGap(this, node, peer);
    this.waiters.check();
  }

  private async ping(): Promise<void> {
    const asked = [...this.peers];
    const answers = await this.askAll(ANSWER_MS);
    if (this.isClosed) return;
    const there = new Set(answers.map(({ node }) => node));
    const silent = asked.filter(([node, peer]) => !there.has(node) && this.peers.get(node) === peer);
    await Promise.all(silent.map(([node, peer]) => this.departures.lose(node, peer)));
    for (const [node, peer] of this.peers)
      if (peer.hasGap) own('asking for missing changes', this.closeGap(node, peer));
  }

  /** Asks the others how far they are. Their answers come after everything that they had to send. */
  private async askAll(maxWaitMs: number): Promise<readonly Answer[]> {
    const answers = await this.channel.ask({ type: 'ping', node: this.node }, this.peers.keys(), maxWaitMs);
    if (this.isClosed) return answers;
    for (const answer of answers) this.peerOf(answer).claims(answer.sequence, answer.clock);
    return answers;
  }
}
