import { own } from '../../base/owner.js';
import type { Change } from '../entries.js';
import { type ClientVersion, type HybridClock, NO_EPOCH, UNITS_PER_MS } from '../version.js';
import * as messages from './messages.js';
import {
  ANSWER_MS,
  type Answer,
  type Channel,
  type Page,
  type Progress,
  type Question,
  type Rest,
  type WireChange,
} from './messages.js';
import type { Replica, Replicas } from './opening.js';
import { type Outgoing, PAGE_BYTES, Peer } from './peer.js';

/** At most this number of workers that are gone is remembered. A client that returns from another one gets a snapshot. */
const MAX_GONE = 256;
/** By how much the clocks of two workers may differ, in ticks of {@link HybridClock}. */
export const MAX_SKEW = 5000 * UNITS_PER_MS;

/** How far a worker that is gone was received. */
interface Gone {
  readonly peer: Peer;
  /** If it ended without a word: when that was noticed, and which workers have given what they had of it. */
  readonly death?: { readonly at: number; readonly givers: ReadonlySet<string> };
}

/** What the departures need of the hub. */
interface DeparturesHost {
  readonly node: string;
  readonly peers: Map<string, Peer>;
  readonly channel: Channel;
  readonly clock: HybridClock;
  /** The rooms in which this worker has changes of another one after a time. */
  roomsWith(origin: string, since: number): string[];
  /** Pulls from one worker what it has of another one in a room. Returns whether all of it has arrived. */
  pullOf(donor: string, room: string, origin: string, since: number): Promise<boolean>;
  /** Fewer workers are waited for. */
  onGone(): void;
}

/**
 * Workers that end without a word. The last messages of such a worker may have reached only some of the others, so they
 * ask each other how far they have received it, and pull what they lack. Until then the worker holds back `complete`.
 *
 *     A                        B                     (both have lost W)
 *     lost {of: W, heard: 7} → everyone
 *                              rest {heard: 9, rooms: ['quotes']} → A
 *     pull {of: B, origin: W} →
 */
export class Departures {
  /** Those that left last are at the end. */
  private readonly gone = new Map<string, Gone>();
  private readonly asking = new Set<string>();

  constructor(private readonly host: DeparturesHost) {}

  get(node: string): Peer | undefined {
    return this.gone.get(node)?.peer;
  }

  /**
   * Whether this worker has what the writer of a version had of the workers that were killed. If the writer was killed with
   * them, such as with its whole machine, it may have had more.
   */
  hasAllOf(writer: string, { complete, latest }: ClientVersion): boolean {
    for (const [node, { peer, death }] of this.gone) {
      if (!death || node === writer || death.givers.has(writer)) continue;
      if (peer.clock < latest && complete <= death.at + MAX_SKEW) return false;
    }
    return true;
  }

  /** A worker that was taken for gone speaks again. */
  back(node: string): void {
    this.gone.delete(node);
  }

  /** A worker has left, and everything that it has sent is here. */
  left(node: string, peer: Peer, death = this.gone.get(node)?.death): void {
    this.host.peers.delete(node);
    this.gone.delete(node);
    this.gone.set(node, death ? { peer, death } : { peer });
    if (this.gone.size > MAX_GONE) for (const [oldest] of this.gone) return void this.gone.delete(oldest);
  }

  /** A worker does not answer any more. */
  async lose(node: string, peer: Peer): Promise<void> {
    if (this.asking.has(node)) return;
    this.asking.add(node);
    const { peers } = this.host;
    const askedAt = performance.now();
    const givers = await this.collect(node, peer).finally(() => this.asking.delete(node));
    if (peers.get(node) !== peer || peer.heardAt > askedAt) return;
    this.left(node, peer, { at: this.host.clock.tick(), givers });
    this.host.onGone();
  }

  /** Another worker has lost one, and asks how far it was received. */
  answerTo(question: Question & { type: 'lost' }): Rest {
    const { of, heard, since } = question;
    const known = this.host.peers.get(of) ?? this.get(of);
    if (heard > (known?.sequence ?? 0) && !this.host.peers.has(of)) {
      const peer = known ?? new Peer(0, 0);
      this.left(of, peer);
      own('noting that a worker is gone', this.lose(of, peer));
    }
    const { sequence, clock } = known ?? { sequence: 0, clock: 0 };
    const hasMore = !known || known.hasGap || sequence > heard;
    return { type: 'rest', heard: sequence, clockOf: clock, rooms: hasMore ? this.host.roomsWith(of, since) : [] };
  }

  /** Returns the workers that have given what they had of it. */
  private async collect(node: string, peer: Peer): Promise<Set<string>> {
    const { channel, peers, node: self } = this.host;
    const others = [...peers.keys()].filter((other) => other !== node && !this.asking.has(other));
    const givers = new Set<string>();
    if (others.length === 0) return givers;
    const { sequence: heard, clock: since } = peer;
    const question = { type: 'lost', node: self, of: node, heard, since } as const;
    const answers = (await channel.ask(question, others, ANSWER_MS)).filter(isRest);
    for (const { node: donor, rooms, heard: theirs, clockOf } of answers) {
      let isWhole = true;
      for (const room of rooms) isWhole = (await this.host.pullOf(donor, room, node, since)) && isWhole;
      if (!isWhole) continue;
      peer.caughtUp(theirs, clockOf);
      givers.add(donor);
    }
    return givers;
  }
}

function isRest(answer: Answer): answer is Progress & { to: string; id: number } & Rest {
  return answer.type === 'rest';
}

/** What pulling needs of the hub. */
interface PullsHost {
  readonly node: string;
  readonly clock: HybridClock;
  readonly channel: Channel;
  readonly rooms: Replicas;
  readonly outgoing: Outgoing;
}

/** Whole rooms, or what has changed in them since a time, which one worker asks another one for, page by page. */
export class Pulls {
  constructor(private readonly host: PullsHost) {}

  /** Applies changes of another worker. */
  adopt(name: string, epoch: string, changes: Iterable<Change>): void {
    const { rooms, clock } = this.host;
    const room = rooms.get(name);
    if (!room) return;
    if (epoch < room.epoch) room.epoch = epoch;
    for (const change of changes) {
      clock.heard(change.clock);
      room.apply(change);
    }
  }

  /** The answer to a worker that pulls. */
  page({ room: name, since, after: from, origin }: Question & { type: 'pull' }): Page {
    const { rooms, outgoing, node } = this.host;
    const room = rooms.get(name);
    const changes: WireChange[] = [];
    if (!room) return { type: 'page', epoch: NO_EPOCH, forgotten: 0, changes };
    // What the answer says of this worker's progress must be in what is read here.
    outgoing.flush();
    const { entries, epoch } = room;
    // What is not here counts as deleted, up to the time of the latest deletion that is forgotten.
    const page: Page = { type: 'page', epoch, forgotten: entries.forgottenClock, changes };
    let bytes = 0;
    for (const entry of entries.after(from)) {
      if (entry.clock <= since || (origin !== undefined && entry.origin !== origin)) continue;
      if (bytes > PAGE_BYTES) {
        page.next = entry.seq - 1;
        break;
      }
      changes.push(messages.toWire(entry, node));
      bytes += entry.bytes;
    }
    return page;
  }

  /**
   * Pulls the changes of a room after a time from one worker.
   * @returns the first page, which says how far that worker was; undefined if it did not answer, or not with all pages
   */
  async pull(node: string, room: Replica, since: number, origin?: string): Promise<(Answer & Page) | undefined> {
    const { channel, clock, node: self } = this.host;
    let first: (Answer & Page) | undefined;
    let next: number | undefined = 0;
    const listed = new Set<string>();
    while (next !== undefined) {
      const asked = { type: 'pull' as const, node: self, of: node, room: room.name, since, after: next };
      const question = origin === undefined ? asked : { ...asked, origin };
      const [page]: readonly Answer[] = await channel.ask(question, [node], ANSWER_MS);
      if (page?.type !== 'page') return undefined;
      // It has closed the room between two pages: the rest is missing.
      if (first && page.epoch === NO_EPOCH) return undefined;
      // Deletions may be missing: everything is needed, to see what is gone.
      if (since > 0 && since < page.forgotten) return this.pull(node, room, 0);
      first ??= page;
      clock.heard(page.clock);
      const changes = page.changes.map((change) => messages.fromWire(change, node));
      for (const { key } of changes) listed.add(key);
      this.adopt(room.name, page.epoch, changes);
      next = page.next;
    }
    if (since === 0 && first && origin === undefined) this.forget(room, first, listed);
    return first;
  }

  /** Pulls what one worker has of another one in a room. Returns whether all of it has arrived. */
  async pullOf(donor: string, name: string, origin: string, since: number): Promise<boolean> {
    const room = this.host.rooms.get(name);
    return !room || (await this.pull(donor, room, since, origin)) !== undefined;
  }

  /** The rooms in which this worker has changes of another one after a time. */
  roomsWith(origin: string, since: number): string[] {
    const hasSome = ({ entries }: Replica) =>
      entries.maxClock > since && [...entries.after(0)].some((entry) => entry.origin === origin && entry.clock > since);
    return [...this.host.rooms.values()].filter(hasSome).map(({ name }) => name);
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
}
