import type { BackplaneEvents } from '../backplane.js';
import type { ConnectionHealth } from '../connection-health.js';
import type { PubSub } from '../frames/machines/pub-sub.js';
import type { NatsAddress } from './address.js';
import { NatsConnection } from './connection.js';

/** The subject of a channel. Rights are given by the parts of a subject, so `gjallar.>` includes all of them. */
export const subjectOf = (channel: string): string => channel.replaceAll(':', '.');

/** Pub/sub of NATS. */
export class NatsPubSub implements PubSub {
  readonly health: ConnectionHealth;
  private readonly connection: NatsConnection;
  /** The channels by their subjects. */
  private readonly channels = new Map<string, string>();
  private onMessage: (channel: string, bytes: Buffer) => void = () => {};
  private onRenewed: () => Promise<void> = () => Promise.resolve();

  constructor(address: NatsAddress, events: BackplaneEvents) {
    this.connection = new NatsConnection(address, events, {
      onMessage: (subject, bytes) => this.onMessage(this.channels.get(subject)!, bytes),
      onRenewed: () => this.onRenewed(),
    });
    this.health = this.connection.health;
  }

  publish(channel: string, bytes: Buffer, messages: number): Promise<undefined> {
    return this.connection.publish(subjectOf(channel), bytes, messages).then(
      () => undefined,
      () => undefined,
    );
  }

  subscribe(channel: string): void {
    const subject = subjectOf(channel);
    this.channels.set(subject, channel);
    this.connection.subscribe(subject);
  }

  listen(onMessage: (channel: string, bytes: Buffer) => void, onRenewed: () => Promise<void>): void {
    this.onMessage = onMessage;
    this.onRenewed = onRenewed;
  }

  close(): void {
    this.connection.close();
  }
}
