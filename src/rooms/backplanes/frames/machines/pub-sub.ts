import type { ConnectionHealth } from '../../connection-health.js';

/**
 * A server that machines exchange frames through. An implementation
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
  subscribe(channel: string): void;
  /** There is one listener for each. */
  listen(onMessage: (channel: string, bytes: Buffer) => void, onRenewed: () => Promise<void>): void;
  close(): void;
}
