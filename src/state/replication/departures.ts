import { own } from '../../base/owner.js';
import { type HybridClock, UNITS_PER_MS } from '../clock.js';
import type { ClientVersion } from '../version.js';
import type { Channel } from './channel.js';
import type { Answer, Progress, Question, Rest } from './messages.js';
import { ANSWER_MS } from './messages.js';
import { Peer } from './peer.js';

/** At most this number of workers that are gone is remembered. A client that returns from another one gets a snapshot. */
const MAX_GONE = 256;
/** After this number of workers is asked at once. Those that are left over are lost again with the next beat. */
const MAX_ASKED = 256;
/** By how much the clocks of two workers may differ, in ticks of {@link HybridClock}. */
export const MAX_SKEW = 5000 * UNITS_PER_MS;

/** How far a worker that is gone was received. */
interface Gone {
  readonly peer: Peer;
  /** If it ended without a word: when that was noticed, and which workers have given what they had of it. */
  readonly death?: { readonly at: number; readonly givers: ReadonlySet<string> };
}

/** What the departures need of the hub. */
export interface DeparturesHost {
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
    if (this.asking.has(node) || this.asking.size >= MAX_ASKED) return;
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
