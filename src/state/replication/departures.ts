import type { Channel } from './channel.js';
import type { Answer, Progress, Question, Rest } from './messages.js';
import { ANSWER_MS } from './messages.js';
import { Peer } from './peer.js';

/** At most this number of workers that are gone is remembered. A client that returns from another one gets a snapshot. */
const MAX_GONE = 256;

/** What the departures need of the hub. */
export interface DeparturesHost {
  readonly node: string;
  readonly peers: Map<string, Peer>;
  readonly channel: Channel;
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
  /** How far the workers that are gone were received, those that left last at the end. */
  private readonly gone = new Map<string, Peer>();
  private readonly asking = new Set<string>();

  constructor(private readonly host: DeparturesHost) {}

  get(node: string): Peer | undefined {
    return this.gone.get(node);
  }

  /** A worker that was taken for gone speaks again. */
  back(node: string): Peer | undefined {
    const peer = this.gone.get(node);
    this.gone.delete(node);
    return peer;
  }

  /** A worker has left, and everything that it has sent is here. */
  left(node: string, peer: Peer): void {
    this.host.peers.delete(node);
    this.gone.delete(node);
    this.gone.set(node, peer);
    if (this.gone.size > MAX_GONE) for (const [oldest] of this.gone) return void this.gone.delete(oldest);
  }

  /** A worker does not answer any more. */
  async lose(node: string, peer: Peer): Promise<void> {
    if (this.asking.has(node)) return;
    this.asking.add(node);
    const { peers } = this.host;
    const askedAt = performance.now();
    await this.collect(node, peer);
    this.asking.delete(node);
    if (peers.get(node) !== peer || peer.heardAt > askedAt) return;
    this.left(node, peer);
    this.host.onGone();
  }

  /** Another worker has lost one, and asks how far it was received. */
  answerTo(question: Question & { type: 'lost' }): Rest {
    const { of, heard, since } = question;
    const known = this.host.peers.get(of) ?? this.gone.get(of);
    if (heard > (known?.sequence ?? 0) && !this.host.peers.has(of)) {
      const peer = known ?? new Peer(0, 0);
      this.left(of, peer);
      void this.lose(of, peer);
    }
    const { sequence, clock } = known ?? { sequence: 0, clock: 0 };
    const hasMore = !known || known.hasGap || sequence > heard;
    return { type: 'rest', heard: sequence, clockOf: clock, rooms: hasMore ? this.host.roomsWith(of, since) : [] };
  }

  private async collect(node: string, peer: Peer): Promise<void> {
    const { channel, peers, node: self } = this.host;
    const others = [...peers.keys()].filter((other) => other !== node && !this.asking.has(other));
    if (others.length === 0) return;
    const { sequence: heard, clock: since } = peer;
    const question = { type: 'lost', node: self, of: node, heard, since } as const;
    const answers = (await channel.ask(question, others, ANSWER_MS)).filter(isRest);
    for (const { node: donor, rooms, heard: theirs, clockOf } of answers) {
      let isWhole = true;
      for (const room of rooms) isWhole = (await this.host.pullOf(donor, room, node, since)) && isWhole;
      if (isWhole) peer.caughtUp(theirs, clockOf);
    }
  }
}

function isRest(answer: Answer): answer is Progress & { to: string; id: number } & Rest {
  return answer.type === 'rest';
}
