import type { HybridClock } from '../clock.js';
import type { Change } from '../entries.js';
import { NO_EPOCH } from '../version.js';
import type { Channel } from './channel.js';
import type { Answer, Page, Question, WireChange } from './messages.js';
import * as messages from './messages.js';
import { ANSWER_MS } from './messages.js';
import { type Outgoing, PAGE_BYTES } from './outgoing.js';
import type { Replica, Replicas } from './replica.js';

/** What pulling needs of the hub. */
export interface PullsHost {
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
    const { entries, epoch, isPartial } = room;
    // What is not here counts as deleted, up to the time of the latest deletion that is forgotten.
    const page: Page = { type: 'page', epoch, forgotten: isPartial ? 0 : entries.forgottenClock, changes };
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
