import type { Backplane, BackplaneEvents, BackplaneSurroundings } from '../backplane.js';
import type { ConnectionHealth } from '../connection-health.js';
import { framesBackplane } from '../frames/machines/open.js';
import type { PubSub, PubSubListener } from '../frames/machines/pub-sub.js';
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
      onLost: () => this.listener?.onLost(),
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

  unsubscribe(channel: string): void {
    this.connection.unsubscribe(subjectOf(channel));
  }

  caughtUp(): Promise<void> {
    return this.connection.caughtUp();
  }

  listen(listener: PubSubListener): void {
    this.listener = listener;
  }

  renew(reason: string): void {
    this.connection.renew(reason);
  }

  close(): void {
    this.connection.close();
  }
}

/** Frames between gjallar servers on any machines, over NATS. */
export function natsBackplane(surroundings: BackplaneSurroundings): Backplane {
  const { url, credentials, events } = surroundings;
  return framesBackplane('nats', surroundings, new NatsPubSub({ url, credentials }, events));
}
