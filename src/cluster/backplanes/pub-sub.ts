import type { ProblemCode } from '../../base/problems.js';
import type { ConnectionHealth } from './connection-health.js';

export type { ConnectionHealth } from './connection-health.js';

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

/** Where a server is, and how to sign in. */
export interface PubSubAddress {
  /** One or more servers, separated by commas. */
  readonly url: string;
  /** The content of a file of credentials, if there is one. */
  readonly credentials?: string | undefined;
}

/** What an implementation gets of gjallar. */
export interface PubSubHost {
  /** What it must keep up to date: whether it is up, why it is not, what is rejected and what is malformed. */
  readonly health: ConnectionHealth;
  /** Reports it if work in the background fails. */
  own(work: string, promise: Promise<unknown>): void;
}

/** A line of `gjallar doctor`. */
export interface Diagnosis {
  readonly level: 'ok' | 'warn' | 'fail';
  /** What was found and what to do. */
  readonly text: string;
  readonly code?: ProblemCode;
}

/** What a package exports that brings the pub/sub of another server, such as gjallar-nats. */
export interface PubSubPackage {
  openPubSub(address: PubSubAddress, host: PubSubHost): PubSub;
  /** Tries what a server would use: it subscribes to the channels, and publishes on all but the first. */
  diagnose(address: PubSubAddress, channels: readonly string[]): Promise<Diagnosis[]>;
}
