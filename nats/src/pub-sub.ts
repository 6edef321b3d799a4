import { randomInt } from 'node:crypto';
import { setImmediate, setTimeout as wait } from 'node:timers/promises';
import type { NatsConnection as Client, Msg, PermissionViolationError } from '@nats-io/transport-node';
import type { ConnectionHealth, PubSub, PubSubAddress, PubSubHost, PubSubListener } from 'gjallar/pub-sub';
import { subjectOf } from './address.js';
import { dial } from './dial.js';
import { PartReader, splitMessage } from './parts.js';
import { Receipts } from './receipts.js';

/** How often a ping is sent, in ms, unless one waits for its answer. */
const PING_INTERVAL_MS = 500;
/** After this number of intervals without an answer, the server counts as down. */
const MAX_SILENT_TURNS = 5;
/** How often what the server does not allow is tried again, in ms. */
const RETRY_INTERVAL_MS = 1000;

const delayOf = (attempt: number): number => Math.min(50 * 2 ** Math.min(attempt, 6), 1000);

interface NatsListener {
  /**
   * Gets each message.
   * @param subject the subject that was subscribed to
   */
  onMessage(subject: string, bytes: Buffer): unknown;
  /**
   * The connection is there, for the first time or again, with all its subscriptions. It counts as up once the promise has
   * resolved.
   */
  onRenewed(): Promise<void>;
}

/** What belongs to one connection, until it is lost. */
interface Current {
  readonly client: Client;
  readonly receipts: Receipts;
  /** What this server does not allow this user, until it is tried again: `publish` or `subscription`, and the subject. */
  readonly rejected: Map<string, PermissionViolationError>;
}

/**
 * A connection with NATS that is made again whenever it is lost. Connecting again is not left to the library: it would
 * keep what cannot be sent, without a bound, and it waits for the outgoing bytes of a server that hangs.
 */
class NatsConnection {
  readonly health: ConnectionHealth;
  private readonly subjects = new Set<string>();
  private readonly reader = new PartReader();
  private readonly closing = new AbortController();
  private current: Current | undefined;
  private nextNumber = randomInt(2 ** 32);

  constructor(
    private readonly address: PubSubAddress,
    private readonly host: PubSubHost,
    private readonly listener: NatsListener,
  ) {
    this.health = host.health;
    host.own('connecting with NATS', this.run());
  }

  /**
   * Publishes, or counts the messages as unsent.
   * @param messages how many messages the bytes carry
   * @returns a promise that resolves when the server has the bytes, and rejects if it is not known to have them
   */
  publish(subject: string, bytes: Buffer, messages: number): Promise<void> {
    return this.health.send(bytes.length, () => this.send(subject, bytes), ['PUB', subject], messages);
  }

  /**
   * Subscribes now and whenever the connection is made again.
   * @returns whether the server has confirmed it on this connection
   */
  async subscribe(subject: string): Promise<boolean> {
    const { current } = this;
    this.subjects.add(subject);
    if (!current) return false;
    this.subscribeOn(current, subject);
    try {
      await current.receipts.ping();
    } catch {
      return false;
    }
    // A rejection has come before the pong, but is reported by an iterator.
    await setImmediate();
    return this.current === current && !current.rejected.has(`subscription ${subject}`);
  }

  close(): void {
    this.closing.abort();
    const { current } = this;
    this.current = undefined;
    if (!current) return;
    // What was published before must leave first. A server that does not answer is noticed as ever, see keepWatch().
    const sent = current.receipts.ping().catch(() => {});
    const ended = sent.then(() => current.client.close());
    this.host.own('closing the connection with NATS', ended);
  }

  private async run(): Promise<void> {
    const { signal } = this.closing;
    for (let attempt = 0; !signal.aborted; attempt++) {
      try {
        const client = await dial(this.address);
        if (signal.aborted) return await client.close();
        attempt = 0;
        await this.use(client);
      } catch (error) {
        this.health.reason = (error as Error).message || String(error);
      }
      if (signal.aborted) return;
      this.health.update(false);
      await wait(delayOf(attempt), undefined, { signal, ref: false }).catch(() => {});
    }
  }

  /** Resolves when the connection is lost. */
  private async use(client: Client): Promise<void> {
    const current: Current = { client, receipts: new Receipts(client), rejected: new Map() };
    this.current = current;
    this.reader.clear();
    const endWatch = this.keepWatch(current);
    this.host.own('reading what NATS reports', this.readStatus(current));
    for (const subject of this.subjects) this.subscribeOn(current, subject);
    this.host.own('renewing the subscriptions with NATS', this.confirm(current));
    const error = await client.closed();
    endWatch();
    const { health } = this;
    if (error) health.reason = error.message;
    current.receipts.lose(new Error('the connection with NATS was lost'));
    if (this.current === current) this.current = undefined;
  }

  private async confirm(current: Current): Promise<void> {
    try {
      await current.receipts.ping();
    } catch {
      // The connection is lost.
      return;
    }
    // A rejection has come before the pong, but is reported by an iterator.
    await setImmediate();
    if ([...current.rejected.values()].some(({ operation }) => operation === 'subscription')) return;
    this.health.rejections.note(['SUB']);
    await this.listener.onRenewed();
    if (this.current === current && !current.client.isClosed()) this.health.update(true);
  }

  /** Silence is counted in turns of this timer: a worker that is itself held up takes no server for down. */
  private keepWatch({ client, receipts }: Current): () => void {
    let silentTurns = 0;
    const timer = setInterval(() => {
      if (!receipts.isWaiting) {
        silentTurns = 0;
        receipts.ping().catch(() => {});
      } else if (++silentTurns >= MAX_SILENT_TURNS) {
        this.health.reason = 'NATS does not answer';
        this.host.own('closing the connection with NATS', client.close());
      }
    }, PING_INTERVAL_MS).unref();
    return () => clearInterval(timer);
  }

  private async readStatus(current: Current): Promise<void> {
    for await (const status of current.client.status()) {
      if (status.type !== 'error') continue;
      const { error } = status;
      if (error.name === 'PermissionViolationError') this.onViolation(current, error as PermissionViolationError);
      else this.health.reason = error.message;
    }
  }

  private onViolation(current: Current, violation: PermissionViolationError): void {
    const { operation, subject } = violation;
    const key = `${operation} ${subject}`;
    current.rejected.set(key, violation);
    if (operation !== 'subscription') this.health.rejections.note(['PUB', subject], violation);
    else this.health.rejections.note(['SUB'], violation);
    const tryAgain = () => {
      current.rejected.delete(key);
      if (operation !== 'subscription' || this.current !== current || !this.subjects.has(subject)) return;
      this.subscribeOn(current, subject);
      this.host.own('renewing the subscriptions with NATS', this.confirm(current));
    };
    setTimeout(tryAgain, RETRY_INTERVAL_MS).unref();
  }

  private subscribeOn({ client }: Current, subject: string): void {
    const callback = (error: Error | null, message: Msg) => {
      if (!error) this.receive(subject, message);
    };
    client.subscribe(subject, { callback });
  }

  /** An exception must not reach the library, which would stop reading. */
  private receive(subject: string, { data }: Msg): void {
    try {
      const bytes = this.reader.read(Buffer.from(data.buffer, data.byteOffset, data.length));
      if (bytes) this.listener.onMessage(subject, bytes);
    } catch (error) {
      this.health.inbox.drop(error as Error);
    }
  }

  private send(subject: string, bytes: Buffer): Promise<void> {
    const { current } = this;
    if (!current) return Promise.reject(new Error('NATS is unreachable'));
    const { client, rejected } = current;
    const rejection = rejected.get(`publish ${subject}`);
    if (rejection) return Promise.reject(rejection);
    const maxPayload = client.info?.max_payload ?? 0;
    const payloads = splitMessage(bytes, this.nextNumber++, maxPayload);
    if (!payloads) return Promise.reject(new Error('the message is too long'));
    try {
      for (const payload of payloads) client.publish(subject, payload);
    } catch (error) {
      return Promise.reject(error);
    }
    return this.receipt(current, subject, bytes.length);
  }

  private async receipt({ receipts, rejected }: Current, subject: string, bytes: number): Promise<void> {
    await receipts.receipt(bytes);
    if (!this.health.rejections.first) return;
    // A rejection has come before the pong, but is reported by an iterator.
    await setImmediate();
    const rejection = rejected.get(`publish ${subject}`);
    if (rejection) throw rejection;
  }
}

/** Opens pub/sub on NATS. */
export const openPubSub = (address: PubSubAddress, host: PubSubHost): PubSub => new NatsPubSub(address, host);

class NatsPubSub implements PubSub {
  readonly health: ConnectionHealth;
  private readonly connection: NatsConnection;
  /** The channels by their subjects. */
  private readonly channels = new Map<string, string>();
  private listener: PubSubListener | undefined;

  constructor(address: PubSubAddress, host: PubSubHost) {
    this.connection = new NatsConnection(address, host, {
      onMessage: (subject, bytes) => this.listener?.onMessage(this.channels.get(subject)!, bytes),
      onRenewed: () => this.listener?.onRenewed() ?? Promise.resolve(),
    });
    this.health = this.connection.health;
  }

  publish(channel: string, bytes: Buffer, messages: number): Promise<undefined> {
    return this.connection.publish(subjectOf(channel), bytes, messages).then(
      () => undefined,
      () => undefined,
    );
  }

  subscribe(channel: string): Promise<boolean> {
    const subject = subjectOf(channel);
    this.channels.set(subject, channel);
    return this.connection.subscribe(subject);
  }

  listen(listener: PubSubListener): void {
    this.listener = listener;
  }

  close(): void {
    this.connection.close();
  }
}
