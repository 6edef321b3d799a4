import type { ConnectionHealth } from '../../connection-health.js';

/** The channel on which all workers meet; those of the machines begin with the same name. */
export const framesChannel = (prefix: string): string => `${prefix}:frames`;

/**
 * The channel on which hubs meet.
 * @param withoutFrames hubs that do not carry frames meet on a channel of their own
 */
export const hubsChannel = (prefix: string, withoutFrames = false): string =>
  withoutFrames ? `${prefix}:hubs-relay` : `${prefix}:hubs`;

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
  /**
   * Subscribes now and with each new connection.
   * @returns whether the server has confirmed it. If not, it does so before the next `onRenewed`.
   */
  subscribe(channel: string): Promise<boolean>;
  unsubscribe(channel: string): void;
  /** Resolves when all messages that were published before the call have been handed on. Rejects without an answer. */
  caughtUp(): Promise<unknown>;
  /** There is one listener. */
  listen(listener: PubSubListener): void;
  /**
   * Messages may have been lost: counts as down until all subscriptions are confirmed again.
   * @param reason what happened, if it has been up until now
   */
  renew(reason: string): void;
  close(): void;
}

export interface PubSubListener {
  onMessage(channel: string, bytes: Buffer): void;
  /** The server has confirmed all subscriptions, for the first time or again. */
  onRenewed(): Promise<void>;
  /** The connection or a subscription is lost after `onRenewed`. */
  onLost(): void;
}
