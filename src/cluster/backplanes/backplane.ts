import type { SharedWindow } from '../../engine/delivery/shared-window.js';
import type { RecoveryOptions, RecoveryState, RemovalTarget } from '../../features/recovery/index.js';
import type { AdapterFactory } from '../../io/rooms/index.js';
import type { Node } from '../node.js';
import type { BusHealth } from './bus-health.js';

export type { BusHealth } from './bus-health.js';

/** Connects this worker with others: adapters for the namespaces, and the connections that they use. */
export interface Backplane {
  /** The name that users know: a value of the option BUS. */
  readonly name: string;
  readonly factory: AdapterFactory;
  /**
   * Resolves when all connections and all subscriptions made so far are established. Never rejects: a backplane that is
   * down keeps trying.
   */
  ready(): Promise<void>;
  /** Whether the server that it depends on is up, and the counts of what is sent there. Several backplanes may share it. */
  readonly health: BusHealth;
  /** What this worker has sent; undefined if the backplane does not gather messages in frames. */
  readonly sent?: SentFrames | undefined;
  /** The state of connection state recovery; undefined if the server does not use it. */
  readonly recovery?: RecoveryState | undefined;
  /**
   * Removes what this worker keeps to recover clients that the operator ends; undefined if the backplane keeps nothing.
   * @returns the ids of the sockets that were disconnected
   */
  removeSessions?(target: RemovalTarget): Promise<string[]>;
  close(): void;
}

/** What a worker has sent to others since the start. */
export interface SentFrames {
  /** Messages, each counted once, however many workers it is for. */
  readonly messages: number;
  /** The frames that carried them: one for each destination and window. */
  readonly frames: number;
  /** Announcements of rooms by other workers that came so late that messages to the rooms may be missing. */
  readonly lateRooms: number;
}

/** The parts that a backplane is opened with. */
export interface BackplaneSurroundings {
  /** This worker among all others. */
  node: Node;
  /** The number of the Socket.IO server within its worker. */
  part?: number;
  /** The window of this worker's outbox. */
  window: SharedWindow;
  /** The URL of the server that it depends on; empty if there is none. */
  url: string;
  /** The credentials for it that are not in the URL. */
  credentials?: string | undefined;
  /** The prefix of the channels. */
  prefix: string;
  /** The link to the keeper of connection state recovery, and its bounds. Without a link, a worker recovers its own clients. */
  recovery?: Omit<RecoveryOptions, 'server' | 'window'>;
}
