import { machineTime } from '../../base/clock.js';
import { isToId } from '../../base/worker-name.js';
import type { Floor } from './keeper/memory.js';
import { type KeptPacket, lastToAll, type Mark } from './keeper/stream.js';
import { encodeOffset } from './offset.js';
import { VersionVector } from './version-vector.js';

/** More senders than any cluster has. Their names come from the backplane. */
const MAX_SENDERS = 4096;
/** No clock follows one of another machine that is further ahead, in ms. */
const MAX_SKEW_MS = 1000;
/** For how long a floor is given out again while this worker receives nothing, in ms. */
const FLOOR_MS = 1000;

/** How much a server has sent in all of its namespaces. */
export interface SentCounts {
  /** Packets to single sockets of this worker. */
  direct: number;
  broadcasts: number;
}

/** How far this worker has received the broadcasts in one namespace, by the worker that sent them. */
export class BroadcastNumbers {
  /** The number of the last broadcast of this worker; 0 for none. */
  sent = 0;
  /** The same of those to all workers. */
  private sentToAll = 0;
  /** Since when it receives them. */
  readonly since = machineTime();
  readonly recent = new RecentPackets();
  /** Times are those of `machineTime()`: a step of the clock does not change them. */
  private readonly senders = new Map<string, { last: number; receivedAt: number }>();
  private lastAt = 0;
  /** What it has received, as offsets name it: without workers that have been silent for a long time. */
  readonly received = new VersionVector();
  private lastFloor: Floor = { at: 0, numbers: '' };

  /**
   * @param worker the name of this worker
   * @param retentionMs how long packets are kept
   * @param counts all namespaces share them: one that is made again goes on above the numbers that others know from before
   */
  constructor(
    readonly worker: string,
    private readonly retentionMs: () => number,
    private readonly counts: SentCounts,
  ) {}

  /** The number of the last packet to a single socket of this worker. */
  get direct(): number {
    return this.counts.direct;
  }

  /** That of the next one. */
  nextDirect(): number {
    return ++this.counts.direct;
  }

  /** The time of the next packet, which is later than all that this worker has sent or received. */
  nextTime(): number {
    // A multiple of 2^-10 is exact, so that packets of the same millisecond keep their order.
    this.lastAt = Math.max(machineTime(), this.lastAt + 1 / 1024);
    return this.lastAt;
  }

  /** The mark of the next broadcast of this worker. @param isToAll whether all workers get it */
  nextMark(isToAll: boolean): Mark {
    const { worker, sentToAll } = this;
    const number = ++this.counts.broadcasts;
    this.sent = number;
    if (isToAll) this.sentToAll = number;
    const at = this.nextTime();
    return isToAll && sentToAll === number - 1 ? [worker, number, at] : [worker, number, at, sentToAll];
  }

  /** The number of the newest broadcast of a worker. */
  lastOf(sender: string): number {
    return this.senders.get(sender)?.last ?? 0;
  }

  /** If broadcasts of a sender are missing before this one, how long ago the last one was received, in ms. */
  gapBefore(mark: Mark): number | undefined {
    const known = this.senders.get(mark[0]);
    return known && lastToAll(mark) > known.last ? machineTime() - known.receivedAt : undefined;
  }

  /**
   * Notes a broadcast that is delivered now.
   * @returns false if it is known already. One to an id may come late, once this worker has told that the socket is here.
   */
  add(mark: Mark, content: Pick<KeptPacket, 'rooms' | 'except' | 'packets'>): boolean {
    const [sender, number, at] = mark;
    const known = this.senders.get(sender);
    if (known && number <= known.last && !isToId(content.rooms)) return false;
    const after = lastToAll(mark);
    const missing = after > this.lastOf(sender) ? after : 0;
    const head = { last: Math.max(number, known?.last ?? 0), receivedAt: machineTime() };
    if (known) Object.assign(known, head);
    else if (this.senders.size < MAX_SENDERS) this.senders.set(sender, head);
    this.received.raise(sender, head.last);
    if (at < machineTime() + MAX_SKEW_MS) this.lastAt = Math.max(this.lastAt, at);
    this.recent.add({ ...content, sender, number, at, missing });
    return true;
  }

  /** The offset of a packet that is delivered now. */
  offset(at: number, direct = this.direct): string {
    return encodeOffset(Math.min(at, machineTime()), this.worker, direct, this.received);
  }

  /** The offset of a packet for a client that lacks further ones. */
  offsetOf(at: number, senders: VersionVector): string {
    return encodeOffset(Math.min(at, machineTime()), this.worker, this.direct, senders);
  }

  /** What this worker has received until now. */
  floor(): Floor {
    const at = machineTime();
    const numbers = `${this.received}`;
    // Sockets that connect or join in between share it.
    if (numbers !== this.lastFloor.numbers || at - this.lastFloor.at > FLOOR_MS) this.lastFloor = { at, numbers };
    return this.lastFloor;
  }

  /** Forgets workers that have been silent for a long time. */
  sweep(): void {
    const now = machineTime();
    const retentionMs = this.retentionMs();
    for (const [sender, { receivedAt }] of this.senders) {
      if (receivedAt < now - 2 * retentionMs) this.received.forget(sender);
      if (receivedAt < now - 3 * retentionMs && sender !== this.worker) this.senders.delete(sender);
    }
  }
}

/** How many bytes of packets are remembered for clients that are about to be connected. */
const MAX_BYTES = 16 * 1024 * 1024;

interface RecentPacket extends KeptPacket {
  readonly sender: string;
  /** If broadcasts of its sender are missing before it, the number of the last one; else 0. */
  readonly missing: number;
}

/** The broadcasts that this worker delivers while clients are being recovered: they are to get these, too. */
class RecentPackets {
  private packets: RecentPacket[] = [];
  private bytes = 0;
  /** How many are not remembered any more. */
  private dropped = 0;
  /** Where clients have begun, with the number of those that have begun there. */
  private readonly begun = new Map<number, number>();

  /** A client begins to be recovered. `end()` must follow. */
  begin(): number {
    const at = this.dropped + this.packets.length;
    this.begun.set(at, (this.begun.get(at) ?? 0) + 1);
    return at;
  }

  add(packet: RecentPacket): void {
    if (this.begun.size === 0) return;
    this.packets.push(packet);
    for (const { length } of packet.packets) this.bytes += length;
    if (this.bytes > MAX_BYTES) this.drop(this.packets.length);
  }

  /** What was delivered since; undefined if that is not remembered. */
  since(begun: number): readonly RecentPacket[] | undefined {
    return begun < this.dropped ? undefined : this.packets.slice(begun - this.dropped);
  }

  end(begun: number): void {
    const count = this.begun.get(begun)! - 1;
    if (count > 0) return void this.begun.set(begun, count);
    this.begun.delete(begun);
    // Those that began earlier are before it.
    const [oldest] = this.begun.keys();
    this.drop(oldest === undefined ? this.packets.length : oldest - this.dropped);
  }

  private drop(count: number): void {
    if (count <= 0) return;
    for (const { packets } of this.packets.slice(0, count)) for (const { length } of packets) this.bytes -= length;
    this.packets = this.packets.slice(count);
    this.dropped += count;
  }
}
