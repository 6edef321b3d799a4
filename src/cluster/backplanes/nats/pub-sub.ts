import type { BackplaneEvents } from '../backplane.js';
import type { ConnectionHealth } from '../connection-health.js';
import type { PubSub, PubSubListener } from '../pub-sub.js';
import { type NatsAddress, subjectOf } from './address.js';
import { NatsConnection } from './connection.js';

/** Pub/sub of NATS. */
export class NatsPubSub implements PubSub {
  readonly health: ConnectionHealth;
  private readonly connection: NatsConnection;
  /** The channels by their subjects. */
  private readonly channels = new Map<string, string>();
  private listener: PubSubListener | undefined;

  constructor(address: NatsAddress, events: BackplaneEvents) {
    this.connection = new NatsConnection(address, events, {
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
