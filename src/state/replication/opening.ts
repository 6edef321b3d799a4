import { setTimeout as after } from 'node:timers/promises';
import { own } from '../../base/owner.js';
import type { HybridClock } from '../clock.js';
import { NO_EPOCH, newEpoch } from '../version.js';
import type { Channel } from './channel.js';
import type { Departures } from './departures.js';
import type { Answer, Progress, Welcome } from './messages.js';
import { ANSWER_MS } from './messages.js';
import type { Outgoing } from './outgoing.js';
import { Peer, type Peers } from './peer.js';
import type { Pulls } from './pulls.js';
import type { Replica, Replicas } from './replica.js';

/** How often a room that finds no other worker asks again, and how many times: adapters need a moment to find the others. */
const RETRY_MS = 100;
const MAX_HELLOS = 12;

/** What opening a room needs of the hub. */
export interface OpeningHost {
  readonly node: string;
  readonly clock: HybridClock;
  readonly channel: Channel;
  readonly rooms: Replicas;
  readonly peers: Peers;
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
      if (peers.isFull && !peers.has(node)) continue;
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
      if (peers.isFull) break;
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
