import type { Cluster, Redis } from 'ioredis';
import type { Change, Entries, Entry } from '../entries.js';
import type { StateRoomSettings } from '../options.js';
import type { HybridClock } from '../version.js';
import { StoreConnection } from './connection.js';
import type { About, RoomKeys } from './fields.js';
import type { StoreClient } from './scripts.js';

/** What a store needs of its room. */
export interface StoredRoom {
  readonly name: string;
  readonly entries: Entries;
  readonly keys: RoomKeys;
  readonly settings: StateRoomSettings;
  apply(change: Change): void;
  /** The room cannot be stored, or can again. */
  onStore(isUp: boolean, reason: string): void;
}

/** What a store needs to know of the workers. */
export interface StoreWorkers {
  /** Names this worker. */
  readonly node: string;
  readonly clock: HybridClock;
  /** Whether this worker does what one worker must do. */
  readonly isFirst: boolean;
  /** The time up to which this worker has every change. */
  complete(): number;
  /** A room has a change of this worker. */
  noteOwn(room: string): void;
}

/** What comparing and writing need of the store of a room. */
export interface WritingStore {
  readonly room: StoredRoom;
  readonly workers: StoreWorkers;
  /** The number of the change up to which this worker's own changes are in Redis. */
  written: number;
  about: About | undefined;
  /** Whether this worker has read everything that Redis had, once. */
  readonly isLoaded: boolean;
  /** Whether another worker has given the room to this one when it was opened. */
  readonly isFilled: boolean;
  /** Whether the other workers have to compare too. */
  isAnnounceDue: boolean;
  readonly isOwn: (entry: Entry) => boolean;
  /** Sends a command. While the last one has no answer, it rejects. */
  run<T>(bytes: number, command: (client: StoreClient) => Promise<T>): Promise<T>;
  /** Takes what Redis says of the room, and notices what it has lost. */
  noteAbout(about: About): void;
  countWritten(count: number): void;
  /** Compares again once what was on its way has arrived. */
  syncLater(): void;
  /** Resolves what waits for changes that are written. */
  settle(): void;
  /** The entries after a number that are wanted, until they are enough for one write. */
  batchAfter(seq: number, isWanted: (entry: Entry) => boolean): { changes: Entry[]; to: number };
}

const connections = new Map<string | Redis | Cluster, StoreConnection>();

/** The connection to a Redis, which all rooms with the same URL or client share. */
export function connectionTo(redis: string | Redis | Cluster): StoreConnection {
  let connection = connections.get(redis);
  if (!connection) {
    connection = new StoreConnection(redis, () => connections.delete(redis));
    connections.set(redis, connection);
  }
  return connection;
}
