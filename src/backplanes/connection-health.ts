import type { BackplaneEvents, BackplaneTraffic } from './backplane.js';
import { Inbox } from './inbox.js';
import { type Command, Rejections } from './redis/rejections.js';
import { redisCause } from './redis-cause.js';

/** Bytes that may wait for Redis: a Redis that has stopped must not fill this worker's memory. */
const MAX_PENDING_BYTES = 32 * 1024 * 1024;

/**
 * Knows whether Redis is up, and counts the messages that could not be sent to it. Those are dropped: a queue of them
 * would fill the memory, and they would arrive late.
 */
export class ConnectionHealth implements BackplaneTraffic {
  isUp = false;
  unsent = 0;
  outages = 0;
  pendingBytes = 0;
  gaps = 0;
  /** How often sending has failed, whatever was sent. */
  failures = 0;
  /** What arrives from Redis passes here. */
  readonly inbox: Inbox;
  /** Why the connection failed: its last error. */
  reason = '';
  /** Commands that Redis rejects. While there are any, it counts as down. */
  readonly rejections: Rejections;
  /** Whether Redis would accept a command; must have no effect. */
  wouldAccept: (command: Command) => Promise<boolean> = () => Promise.resolve(false);
  private isConnected = false;
  private told: boolean | undefined;
  /** The rejected command, or the kind of reason, that was reported last. */
  private toldCause = '';
  private unsentBefore = 0;
  private waiting: (() => void)[] = [];

  /** @param maxPendingBytes bytes that may wait for Redis */
  constructor(
    private readonly events: BackplaneEvents,
    private readonly maxPendingBytes = MAX_PENDING_BYTES,
  ) {
    this.inbox = new Inbox(events);
    this.rejections = new Rejections(
      (command) => this.wouldAccept(command),
      () => this.review(),
    );
  }

  get malformed(): number {
    return this.inbox.malformed;
  }

  /** Notes whether all connections and subscriptions are there, and reports a change. */
  update(isConnected: boolean): void {
    this.isConnected = isConnected;
    this.review();
  }

  /** Frames of a worker were lost, or its numbers do not continue. */
  noteGap(worker: string, reason: string): void {
    this.gaps++;
    this.events.onGap?.(worker, reason);
  }

  close(): void {
    this.rejections.close();
  }

  private review(): void {
    const rejection = this.rejections.first;
    const isUp = this.isConnected && !rejection;
    this.isUp = isUp;
    if (isUp) {
      for (const resolve of this.waiting) resolve();
      this.waiting = [];
    }
    // Redis may become unreachable before it accepts the command.
    if (rejection && (this.isConnected || this.reason === '')) return this.reportRejection(rejection);
    // Connecting for the first time takes a moment, which is no outage.
    if (!isUp && this.told === undefined && this.reason === '') return;
    const cause = isUp ? '' : (redisCause(this.reason)?.word ?? 'unreachable');
    if (isUp === this.told && (cause === this.toldCause || this.reason === '')) return;
    const wasDown = this.told === false;
    this.told = isUp;
    this.toldCause = cause;
    if (isUp) {
      this.events.onUp(this.unsent - this.unsentBefore);
      this.unsentBefore = this.unsent;
      this.reason = '';
    } else {
      if (!wasDown) this.outages++;
      this.events.onDown(this.reason || 'the connection was closed');
    }
  }

  private reportRejection({ command: [name], reason }: { command: Command; reason: string }): void {
    if (this.told !== false) this.outages++;
    this.told = false;
    const cause = `${name} ${redisCause(reason)?.word}`;
    if (this.toldCause === cause) return;
    this.toldCause = cause;
    this.events.onDown(`${name}: ${reason}`, name);
  }

  whenUp(): Promise<void> {
    return this.isUp ? Promise.resolve() : new Promise((resolve) => this.waiting.push(resolve));
  }

  /**
   * Sends a message, or counts it as unsent. Callers may ignore the promise, as the adapters do: its rejection does not
   * end the process.
   * @param name the command and its first argument, to which Redis may object
   * @param messages how many messages it carries
   */
  send<T>(bytes: number, send: () => Promise<T>, name?: Command, messages = 1): Promise<T> {
    const sent = this.pendingBytes + bytes > this.maxPendingBytes ? refuse<T>() : send();
    this.pendingBytes += bytes;
    sent.then(
      () => {
        this.pendingBytes -= bytes;
        if (name && this.rejections.first) this.rejections.note(name);
      },
      (error) => {
        this.pendingBytes -= bytes;
        this.unsent += messages;
        this.failures++;
        if (name) this.rejections.note(name, error);
      },
    );
    return sent;
  }
}

function refuse<T>(): Promise<T> {
  return Promise.reject(new Error('too many bytes are waiting for Redis'));
}
