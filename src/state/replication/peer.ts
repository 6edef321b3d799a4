import { setTimeout as after } from 'node:timers/promises';
import { own } from '../../base/owner.js';
import { thisProcess } from '../../base/process.js';
import { MalformedMessage } from '../../errors.js';
import type { HybridClock } from '../version.js';
import type { Departures, Pulls } from './departures.js';
import type {
  Answer,
  Channel,
  Message,
  News,
  Page,
  Progress,
  Question,
  Rest,
  Welcome,
  WireChange,
} from './messages.js';
import * as messages from './messages.js';
import type { Opening, Replica, Replicas } from './opening.js';

/** Messages that overtake others are waited for before the missing ones are asked for, in ms. */
const OVERTAKEN_MS = 50;
/** After this time, a worker that did not send what is missing is asked again, in ms. */
const RETRY_MS = 100;

/** What closing gaps needs of the hub. */
interface GapsHost {
  readonly rooms: Replicas;
  readonly peers: ReadonlyMap<string, Peer>;
  readonly pulls: Pulls;
  readonly isClosed: boolean;
}

/** Asks a worker for messages that are missing: for what it has changed since the last one that is here. */
export async function closeGap(host: GapsHost, node: string, peer: Peer): Promise<void> {
  if (peer.isPulling) return;
  peer.isPulling = true;
  try {
    await after(OVERTAKEN_MS);
    while (peer.hasGap && !host.isClosed && host.peers.get(node) === peer) {
      let first: (Answer & Page) | undefined;
      let isWhole = true;
      for (const room of host.rooms.values()) {
        const page = await host.pulls.pull(node, room, peer.clock);
        first ??= page;
        isWhole &&= page !== undefined;
      }
      if (first && isWhole) peer.caughtUp(first.sequence, first.clock);
      if (peer.hasGap) await after(RETRY_MS);
    }
  } finally {
    peer.isPulling = false;
  }
}

/** Approximate size of a message between workers. */
export const PAGE_BYTES = 262_144;

/** Sends this worker's own changes to all others, in numbered messages. */
export class Outgoing {
  /** Rooms with changes that the others have not been sent. */
  private readonly changed = new Set<Replica>();
  private sequence = 0;
  /** Up to this time, the others have been sent everything. */
  private sentUpTo = 0;

  constructor(
    private readonly node: string,
    private readonly clock: HybridClock,
    private readonly channel: Channel,
  ) {}

  /** A room has a change of this worker. */
  note(room: Replica): void {
    if (room.isReady) this.changed.add(room);
  }

  remove(room: Replica): void {
    this.changed.delete(room);
  }

  /** Sends what has changed. */
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
        this.send(room, changes);
        changes = [];
        bytes = 0;
      }
      if (changes.length > 0) this.send(room, changes);
    }
    this.sentUpTo = this.clock.tick();
  }

  /** Sends changes of a room, and its epoch with them. */
  send({ name, epoch }: Replica, changes: WireChange[]): void {
    this.sequence++;
    // Later changes may be older than this moment, so it says nothing of the time.
    this.channel.send({ type: 'changes', ...this.progress, room: name, epoch, changes });
  }

  /** How far this worker is, once it has sent everything. */
  flushed(): Progress {
    this.flush();
    return this.progress;
  }

  private get progress(): Progress {
    return { node: this.node, sequence: this.sequence, clock: this.sentUpTo };
  }
}

/** What incoming messages need of the hub. */
interface IncomingHost {
  readonly node: string;
  readonly clock: HybridClock;
  readonly channel: Channel;
  readonly rooms: Replicas;
  readonly peers: Map<string, Peer>;
  readonly outgoing: Outgoing;
  readonly pulls: Pulls;
  readonly opening: Opening;
  readonly departures: Departures;
  peerOf(progress: Progress): Peer;
  /** A message of a worker has been handled; some before it may be missing. */
  onNews(node: string): void;
}

/** Handles the messages of the other workers. */
export class Incoming {
  constructor(private readonly host: IncomingHost) {}

  receive(given: unknown): void {
    const { node } = this.host;
    try {
      const message = messages.check(given);
      if (message.node === node) return;
      if ('to' in message && message.to !== node) return;
      this.handle(message);
    } catch (error) {
      if (!(error instanceof MalformedMessage)) throw error;
      thisProcess.reports.malformed('state', error.message);
    }
  }

  private handle(message: Message): void {
    const { host } = this;
    const { node, channel, outgoing, pulls, departures } = host;
    switch (message.type) {
      case 'changes': {
        const changes = message.changes.map((change) => messages.fromWire(change, message.node));
        const peer = host.peerOf(message);
        pulls.adopt(message.room, message.epoch, changes);
        peer.received(message.sequence, message.clock);
        if (host.rooms.has(message.room)) peer.changed(message.room, changes.at(-1)?.clock ?? 0);
        break;
      }
      case 'beat':
        host.peerOf(message).claims(message.sequence, message.clock);
        break;
      case 'bye':
        this.bye(message);
        break;
      case 'hello':
        this.hello(message);
        return this.answer(message, host.opening.welcome(message.room));
      case 'ping':
        return this.answer(message, { type: 'pong' });
      case 'pull':
        if (message.of === node) this.answer(message, pulls.page(message));
        return;
      case 'lost':
        if (message.of === node) channel.send({ type: 'beat', ...outgoing.flushed() });
        else this.answer(message, departures.answerTo(message));
        return;
      default:
        return channel.answered(message);
    }
    host.onNews(message.node);
  }

  private hello({ node, sequence, clock }: Progress): void {
    const { peers, clock: own } = this.host;
    own.heard(clock);
    // A worker that has just started has not sent anything that could be missing.
    if (sequence === 0 && !peers.has(node)) peers.set(node, new Peer(0, clock));
    else this.host.peerOf({ node, sequence, clock }).claims(sequence, clock);
  }

  private bye({ node, sequence, clock }: News & { type: 'bye' }): void {
    const { peers, departures } = this.host;
    const peer = peers.get(node);
    if (!peer) return;
    if (sequence !== undefined && clock !== undefined) peer.claims(sequence, clock);
    if (peer.hasGap) own('noting that a worker is gone', departures.lose(node, peer));
    else departures.left(node, peer);
  }

  private answer({ node: to, id }: Question, content: Welcome | { type: 'pong' } | Page | Rest): void {
    const { channel, outgoing } = this.host;
    channel.send({ ...outgoing.flushed(), to, id, ...content });
  }
}

/** A run of messages that arrived behind missing ones. */
interface Run {
  from: number;
  to: number;
  clock: number;
}

/** How far this worker has received another one. */
export class Peer {
  /** Whether the missing messages are being asked for. */
  isPulling = false;
  /** When it was heard last, in ms. */
  heardAt = performance.now();
  /** The latest change of its own that has arrived in a room, if nothing before it is missing. */
  private readonly heads = new Map<string, number>();
  private ahead: Run | undefined;

  /**
   * @param sequence everything up to this message has been received
   * @param clock and with it all changes up to this time
   */
  constructor(
    public sequence: number,
    public clock: number,
  ) {}

  /** Whether messages are missing. */
  get hasGap(): boolean {
    return this.ahead !== undefined;
  }

  /** Whether all that it has changed in a room up to a time is here. */
  hasOwn(room: string, clock: number): boolean {
    return !this.hasGap && clock <= Math.max(this.clock, this.heads.get(room) ?? 0);
  }

  /** Changes of its own have arrived, up to this time. */
  changed(room: string, clock: number): void {
    if (!this.hasGap && clock > (this.heads.get(room) ?? 0)) this.heads.set(room, clock);
  }

  /** The room is closed here. */
  closed(room: string): void {
    this.heads.delete(room);
  }

  /** A message with changes has arrived. */
  received(sequence: number, clock: number): void {
    this.add({ from: sequence, to: sequence, clock });
  }

  /** The peer says that it has sent this much. */
  claims(sequence: number, clock: number): void {
    this.add({ from: sequence + 1, to: sequence, clock });
  }

  /** Everything up to this message is here. */
  caughtUp(sequence: number, clock: number): void {
    if (sequence < this.sequence) return;
    this.sequence = sequence;
    this.clock = Math.max(this.clock, clock);
    this.absorb();
  }

  private add(run: Run): void {
    this.heardAt = performance.now();
    if (run.from <= this.sequence + 1) this.caughtUp(run.to, run.clock);
    else if (!this.ahead || run.from > this.ahead.to + 1) this.ahead = run;
    else if (run.to >= this.ahead.to)
      this.ahead = { from: Math.min(run.from, this.ahead.from), to: run.to, clock: run.clock };
  }

  private absorb(): void {
    const { ahead } = this;
    if (!ahead || ahead.from > this.sequence + 1) return;
    this.ahead = undefined;
    if (ahead.to >= this.sequence) {
      this.sequence = ahead.to;
      this.clock = Math.max(this.clock, ahead.clock);
    }
  }
}
