import { queueMicrotask } from '../../base/clock.js';
import { MalformedMessage } from '../../base/errors.js';
import { thisProcess } from '../../base/process.js';
import { type Broker, faultOf, isConnectionRejected } from './broker-cause.js';
import { BusHealth } from './bus-health.js';

/** What arrives from a backplane passes here: malformed messages are counted, reported and dropped. */
export class Inbox {
  /** Messages dropped since the start because they were malformed. */
  malformed = 0;
  /** What was wrong with the last one. */
  last = '';
  private readonly counted = new WeakSet<Error>();

  /** Counts a dropped message, once for each error. */
  drop(error: Error): void {
    if (this.counted.has(error)) return;
    this.counted.add(error);
    this.malformed++;
    this.last = error.message;
    thisProcess.reports.malformed('bus', error.message);
  }
}

/** The error for a message that caused `error` while it was read. */
export function malformed(error: unknown): MalformedMessage {
  if (error instanceof MalformedMessage) return error;
  return new MalformedMessage(error instanceof Error ? error.message : String(error));
}

/** Bytes that may wait for Redis: a Redis that has stopped must not fill this worker's memory. */
const MAX_PENDING_BYTES = 32 * 1024 * 1024;

/** A rejection of another channel counts as over after this time without one, in ms, if the command succeeds. */
const REJECTION_MEMORY_MS = 2000;

/** What Redis answers while it starts, while slots move, or while a cluster chooses another master. It ends without an operator. */
const TRANSIENT = /^(ASK|BUSY|CLUSTERDOWN|LOADING|MASTERDOWN|MOVED|TRYAGAIN)/;

/** The names of the errors with which ioredis, and the client of NATS, report a rejected command. */
const REJECTIONS: readonly string[] = ['ReplyError', 'PermissionViolationError'];

/** Whether the server has rejected a command for a reason that an operator must remove, such as missing rights. */
function isRejection(error: unknown): error is Error {
  if (!(error instanceof Error) || !REJECTIONS.includes(error.name)) return false;
  return !TRANSIENT.test(error.message) && !isConnectionRejected(error.message);
}

/** The name of a command, and the channel that it is for. */
type Command = readonly [name: string, channel?: string];

interface Rejection {
  readonly channel: string | undefined;
  /** In the words of the server. */
  readonly reason: string;
  readonly at: number;
}

/** The commands that the server rejects at present. A command is accepted again when one succeeds. */
export class Rejections {
  private readonly rejected = new Map<string, Rejection>();

  /** @param onChange called when the first rejection is another one, and when there is none any more */
  constructor(private readonly onChange: () => void) {}

  get first(): { name: string; reason: string } | undefined {
    for (const [name, { reason }] of this.rejected) return { name, reason };
    return undefined;
  }

  /** Notes the outcome of a command: its error, or undefined if it succeeded. */
  note([name, channel]: Command, error?: unknown): void {
    const known = this.rejected.get(name);
    if (isRejection(error)) {
      this.rejected.set(name, { channel, reason: error.message, at: performance.now() });
      return this.onChange();
    }
    if (error || !known) return;
    if (known.channel !== channel && performance.now() - known.at < REJECTION_MEMORY_MS) return;
    this.rejected.delete(name);
    // Others may be accepted in the same turn.
    queueMicrotask(this.onChange);
  }
}

/**
 * Knows whether Redis is up, and counts the messages that could not be sent to it. Those are dropped: a queue of them
 * would fill the memory, and they would arrive late.
 */
export class ConnectionHealth extends BusHealth {
  unsent = 0;
  pendingBytes = 0;
  gaps = 0;
  /** The machine whose frames were lost last, and how. */
  lastGap: readonly [machine: string, reason: string] | undefined;
  /** How often sending has failed, whatever was sent. */
  failures = 0;
  /** What arrives from Redis passes here. */
  readonly inbox = new Inbox();
  /** Why the connection failed: its last error. */
  reason = '';
  /** Commands that Redis rejects. While there are any, it counts as down. */
  readonly rejections = new Rejections(() => this.review());
  private isConnected = false;

  /** @param maxPendingBytes bytes that may wait for Redis */
  constructor(
    private readonly broker: Broker,
    private readonly maxPendingBytes = MAX_PENDING_BYTES,
  ) {
    super();
  }

  /** Where there is no server, nothing is ever down. */
  static ofNone(): ConnectionHealth {
    const health = new ConnectionHealth('Redis');
    health.update(true);
    return health;
  }

  get malformed(): number {
    return this.inbox.malformed;
  }

  /** Notes whether all connections and subscriptions are there, and reports a change. */
  update(isConnected: boolean): void {
    this.isConnected = isConnected;
    this.review();
  }

  /** Frames of or to another machine were lost, or its numbers do not continue. */
  noteGap(machine: string, reason: string): void {
    this.gaps++;
    this.lastGap = [machine, reason];
  }

  private review(): void {
    const rejection = this.rejections.first;
    if (this.isConnected && !rejection) {
      if (!this.isUp) this.reason = '';
      return this.up();
    }
    // Redis may become unreachable before it accepts the command.
    if (rejection && (this.isConnected || this.reason === '')) {
      return this.fail(`${rejection.name}: ${rejection.reason}`, rejection.name);
    }
    // Connecting for the first time takes a moment, which is no outage; nor is an answer the end of one.
    if (this.reason === '' && !this.isUp) return;
    this.fail(this.reason || 'the connection was closed');
  }

  private fail(cause: string, command?: string): void {
    this.down({ ...faultOf(this.broker, cause, command), since: Date.now(), cause });
  }

  /**
   * Sends a message, or counts it as unsent. Callers may ignore the promise, as the adapters do: its rejection does not
   * end the process.
   * @param command to which Redis may object
   * @param messages how many messages it carries
   */
  send<T>(bytes: number, send: () => Promise<T>, command?: Command, messages = 1): Promise<T> {
    const sent = this.pendingBytes + bytes > this.maxPendingBytes ? refuse<T>() : send();
    this.pendingBytes += bytes;
    sent.then(
      () => {
        this.pendingBytes -= bytes;
        if (command && this.rejections.first) this.rejections.note(command);
      },
      (error) => {
        this.pendingBytes -= bytes;
        this.unsent += messages;
        this.failures++;
        if (command) this.rejections.note(command, error);
      },
    );
    return sent;
  }
}

function refuse<T>(): Promise<T> {
  return Promise.reject(new Error('too many bytes are waiting for Redis'));
}
