import type { ConnectionHealth } from './connection-health.js';

/** The channel on which emitters publish. */
export const framesChannel = (prefix: string): string => `${prefix}:frames`;

/**
 * The channel on which hubs meet; those of the hubs begin with the same name.
 * @param withoutFrames hubs that carry only the relay and the services meet on a channel of their own
 */
export const hubsChannel = (prefix: string, withoutFrames = false): string =>
  withoutFrames ? `${prefix}-relay#hubs` : `${framesChannel(prefix)}:hubs`;

/**
 * A server that hubs exchange frames through. An implementation
 *
 * - must deliver the messages of one connection to a channel in order and at most once each;
 * - must renew its subscriptions by itself, and call `onRenewed` whenever messages may have been lost meanwhile. It counts
 *   as up once the promise of that call has resolved;
 * - must report outages through its connection health.
 */
export interface PubSub {
  readonly health: ConnectionHealth;
  /**
   * Publishes, or counts the messages as unsent.
   * @param messages how many messages the bytes carry
   * @returns how many subscriptions the channel has, or undefined if the server does not say; undefined, too, on failure
   */
  publish(channel: string, bytes: Buffer, messages: number): Promise<number | undefined>;
  /**
   * Subscribes now and with each new connection.
   * @returns whether the server has confirmed it. If not, it does so before the next `onRenewed`.
   */
  subscribe(channel: string): Promise<boolean>;
  /** There is one listener. */
  listen(listener: PubSubListener): void;
  close(): void;
}

export interface PubSubListener {
  onMessage(channel: string, bytes: Buffer): void;
  /** The server has confirmed all subscriptions, for the first time or again. */
  onRenewed(): Promise<void>;
}
