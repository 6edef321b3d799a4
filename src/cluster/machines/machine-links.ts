import { randomInt } from 'node:crypto';
import { reportFailure } from '../../base/owner.js';
import { thisProcess } from '../../base/process.js';
import { WORKER_NAME } from '../../base/worker-links.js';
import { type Clock, systemClock } from '../../engine/clock.js';
import { MalformedMessage } from '../../errors.js';

/**
 * The link messages between workers of different machines: version (1 byte), type (1 byte), series (4 bytes), number (4 bytes),
 * part (1 byte), length of the sender's name (1 byte), the name, the payload. Numbers are little endian.
 */

export const linkMessageTypes = {
  /** A message. */
  message: 0,
  /** The sender is alive, and wants to know whether the receiver is. */
  beat: 1,
  /** The answer to a beat. */
  alive: 2,
  /** A link message of the receiver's series is missing. Not numbered itself; its series is that of the receiver. */
  reset: 3,
} as const;
type LinkMessageType = (typeof linkMessageTypes)[keyof typeof linkMessageTypes];

export interface LinkMessage {
  type: LinkMessageType;
  /** The name of the sender. */
  from: string;
  /** A random number for an unbroken sequence of link messages from one worker to another. */
  series: number;
  /** Counts the link messages of the series from 0. */
  number: number;
  /** Which of the links of the worker a message is for. */
  part: number;
  payload: Uint8Array;
}

const VERSION = 1;
const HEADER = 12;

export function encodeLinkMessage({ type, from, series, number, part, payload }: LinkMessage): Buffer {
  const bytes = Buffer.allocUnsafe(HEADER + from.length + payload.length);
  bytes[0] = VERSION;
  bytes[1] = type;
  bytes.writeUInt32LE(series, 2);
  bytes.writeUInt32LE(number, 6);
  bytes[10] = part;
  bytes[11] = from.length;
  bytes.write(from, HEADER, 'latin1');
  bytes.set(payload, HEADER + from.length);
  return bytes;
}

/** @throws MalformedMessage */
export function decodeLinkMessage(bytes: Buffer): LinkMessage & { payload: Buffer } {
  if (bytes.length < HEADER) throw new MalformedMessage('a link message is too short');
  if (bytes[0] !== VERSION) throw new MalformedMessage('a link message has an unknown version');
  const type = bytes[1] as LinkMessageType;
  if (type > linkMessageTypes.reset) throw new MalformedMessage('a link message has an unknown type');
  const end = HEADER + bytes[11]!;
  const from = bytes.toString('latin1', HEADER, end);
  if (WORKER_NAME.exec(from)?.[0] !== from) throw new MalformedMessage('a link message does not name its sender');
  const [series, number] = [bytes.readUInt32LE(2), bytes.readUInt32LE(6)];
  return { type, from, series, number, part: bytes[10]!, payload: bytes.subarray(end) };
}

/** A channel for each worker of all machines. A message arrives in order, or is lost. */
export interface MachineChannels {
  /** Whether messages can be sent and received. */
  readonly isUp: boolean;
  /**
   * Sends a message to a worker. Resolves with 0 if no worker of this name listens, and rejects if the message was not
   * sent.
   */
  publish(to: string, message: Buffer): Promise<number>;
  /**
   * Calls back with what other workers send to this one.
   * @param onLoss called when messages to this worker may have been lost
   */
  listen(onMessage: (bytes: Buffer) => void, onLoss: () => void): void;
}

/** A longer message is not sent. Redis disconnects a subscriber for which 32 MB are waiting. */
export const MAX_LINK_MESSAGE_BYTES = 16 * 1024 * 1024;
/** How often the workers that this one waits for are checked, in ms. */
export const BEAT_INTERVAL_MS = 2000;
/** After this number of silent turns, the other worker counts as gone. */
const MAX_SILENT_TURNS = 4;
/** Beyond this number of workers, the one that was met first counts as gone. */
const MAX_PEERS = 20_000;
/** A turn that is later than this, in ms, means that this worker itself was busy, and blames no other one. */
const MAX_TURN_MS = 1.5 * BEAT_INTERVAL_MS;
const MAX_SERIES = 2 ** 32;
const NOTHING = new Uint8Array();

/** A worker of another machine. */
interface Peer {
  /** The link messages to it. */
  readonly series: number;
  sent: number;
  /** The link messages from it: the series, and the number of the next one. */
  receiving: { series: number; next: number } | undefined;
  hasSent: boolean;
  hasHeard: boolean;
  owesAnswer: boolean;
  silentTurns: number;
}

/** The machine links of one of several engines in this process, which do not hear each other. */
export interface MachinePart {
  /** The id of this machine. */
  readonly machine: string;
  /** Whether workers of other machines can be reached. */
  readonly isUp: boolean;
  /** Sends to a worker of another machine. If that fails, the worker counts as gone, which is reported later. */
  send(to: string, payload: Uint8Array): void;
  /** Sets the listeners. */
  listen(listeners: PartListeners): void;
}

interface PartListeners {
  /** Gets each message. May keep the payload, and throw a MalformedMessage. */
  onMessage(from: string, payload: Buffer): void;
  /** A worker is gone, or some of its messages were lost. */
  onLeave(id: string): void;
  /** The workers whose messages are waited for; others may be among them. */
  inUse(): Iterable<unknown>;
}

/**
 * The links between workers of different machines, over channels that may lose messages. Messages of one worker to
 * another arrive in order, or the two count as gone for each other: the link messages are numbered, and a worker that misses
 * one reports it. After that, the next message begins a new series.
 *
 * ```
 * ONE                              OTHER
 *  │  message (series 7, number 0)  │
 *  │ ─────────────────────────────▶ │
 *  │  message (7, 1)                │
 *  │ ──────────╳                    │
 *  │  message (7, 2)                │
 *  │ ─────────────────────────────▶ │  ONE is gone
 *  │                      reset (7) │
 *  │ ◀───────────────────────────── │
 *  │  OTHER is gone                 │
 *  │  message (9, 0)                │
 *  │ ─────────────────────────────▶ │
 * ```
 *
 * Beats find the loss of a last message, and a worker that hangs. They go only to workers that this one waits for.
 */
export class MachineLinks {
  private readonly peers = new Map<string, Peer>();
  private timer: unknown;
  private lastTurn: number;
  private readonly parts = new Map<number, PartListeners>();

  /**
   * @param id the name of this worker among all machines
   * @param machine the id of this machine
   */
  constructor(
    readonly id: string,
    readonly machine: string,
    private readonly channels: MachineChannels,
    private readonly clock: Clock = systemClock,
  ) {
    channels.listen(
      (bytes) => this.receive(bytes),
      () => this.loseAll(),
    );
    this.lastTurn = clock.now();
    this.timer = clock.setTimeout(this.onTurn, BEAT_INTERVAL_MS);
  }

  /** @param part a number from 0 to 255, the same on all machines */
  part(part: number): MachinePart {
    const { machine, channels } = this;
    return {
      machine,
      get isUp() {
        return channels.isUp;
      },
      send: (to, payload) => this.sendLinkMessage(to, linkMessageTypes.message, part, payload),
      listen: (listeners) => this.parts.set(part, listeners),
    };
  }

  close(): void {
    this.clock.clearTimeout(this.timer);
    this.parts.clear();
    this.peers.clear();
  }

  private sendLinkMessage(to: string, type: LinkMessageType, part = 0, payload: Uint8Array = NOTHING): void {
    const peer = this.peerOf(to);
    peer.hasSent = true;
    const { series } = peer;
    this.publish(to, { type, from: this.id, series, number: peer.sent++ >>> 0, part, payload }).catch(() => {
      if (this.peers.get(to)?.series === series) this.lose(to);
    });
  }

  /** Rejects if the link message does not arrive. */
  private async publish(to: string, message: LinkMessage): Promise<void> {
    if (message.payload.length > MAX_LINK_MESSAGE_BYTES) throw new Error('the message is too long');
    if ((await this.channels.publish(to, encodeLinkMessage(message))) === 0) throw new Error('the worker is gone');
  }

  private peerOf(id: string): Peer {
    const known = this.peers.get(id);
    if (known) return known;
    if (this.peers.size >= MAX_PEERS) this.lose(this.peers.keys().next().value!);
    const peer: Peer = {
      series: randomInt(MAX_SERIES),
      sent: 0,
      receiving: undefined,
      hasSent: false,
      hasHeard: false,
      owesAnswer: false,
      silentTurns: 0,
    };
    this.peers.set(id, peer);
    return peer;
  }

  /** An exception must not end the connection that has received the link message. */
  private receive(bytes: Buffer): void {
    try {
      this.onLinkMessage(decodeLinkMessage(bytes));
    } catch (error) {
      if (error instanceof MalformedMessage) return thisProcess.reports.malformed('relay', error.message);
      reportFailure('handling a message of another machine', error);
    }
  }

  private onLinkMessage({ type, from, series, number, part, payload }: LinkMessage & { payload: Buffer }): void {
    if (type === linkMessageTypes.reset) {
      if (this.peers.get(from)?.series === series) this.lose(from);
      return;
    }
    if (number === 0) {
      // The other worker has abandoned what it shared with this one.
      if (this.peers.get(from)?.receiving) this.lose(from);
      this.peerOf(from).receiving = { series, next: 0 };
    }
    const peer = this.peers.get(from);
    const receiving = peer?.receiving;
    if (!peer || !receiving || receiving.series !== series || receiving.next !== number) {
      // What was begun after a loss does not depend on link messages from before.
      if (receiving) this.lose(from);
      const reset = { type: linkMessageTypes.reset, from: this.id, series, number: 0, part: 0, payload: NOTHING };
      this.publish(from, reset).catch(() => {});
      return;
    }
    receiving.next = (number + 1) >>> 0;
    peer.hasHeard = true;
    if (type === linkMessageTypes.beat) peer.owesAnswer = true;
    if (type === linkMessageTypes.message) this.parts.get(part)?.onMessage(from, payload);
  }

  private lose(id: string): void {
    if (!this.peers.delete(id)) return;
    for (const { onLeave } of this.parts.values()) onLeave(id);
  }

  private loseAll(): void {
    for (const id of [...this.peers.keys()]) this.lose(id);
  }

  private readonly onTurn = (): void => {
    this.timer = this.clock.setTimeout(this.onTurn, BEAT_INTERVAL_MS);
    const now = this.clock.now();
    const isLate = now - this.lastTurn > MAX_TURN_MS;
    this.lastTurn = now;
    const inUse = new Set([...this.parts.values()].flatMap((listeners) => [...listeners.inUse()]));
    for (const [id, peer] of [...this.peers]) {
      const { hasSent, hasHeard, owesAnswer } = peer;
      peer.hasSent = peer.hasHeard = peer.owesAnswer = false;
      const isWaiting = inUse.has(id);
      peer.silentTurns = hasHeard || isLate || !isWaiting ? 0 : peer.silentTurns + 1;
      if (peer.silentTurns >= MAX_SILENT_TURNS) this.lose(id);
      else if (isWaiting && !(hasSent && hasHeard)) this.sendLinkMessage(id, linkMessageTypes.beat);
      else if (owesAnswer && !hasSent) this.sendLinkMessage(id, linkMessageTypes.alive);
    }
  };
}
