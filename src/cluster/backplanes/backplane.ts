import type { WorkerLinks } from '../../base/worker-links.js';
import type { SharedWindow } from '../../engine/delivery/shared-window.js';
import type { RecoveryOptions, RecoveryState, RemovalTarget } from '../../features/recovery/index.js';
import type { AdapterFactory } from '../../io/rooms/index.js';
import type { BackplaneEvents, BackplaneTraffic } from './events.js';
import type { HubClient } from './frames/hub/hub-client.js';
import type { ReachCounts } from './frames/links.js';

export type { BackplaneEvents, BackplaneTraffic };

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
  /**
   * Resolves when this worker has received what others had published before the call. Undefined if nothing comes through a
   * server. Rejects if the server does not answer.
   */
  caughtUp?(): Promise<unknown>;
  readonly traffic: BackplaneTraffic;
  /** What this worker has sent; undefined if the backplane does not gather messages in frames. */
  readonly sent?: SentFrames | undefined;
  /** The state of connection state recovery; undefined if the server does not use it. */
  readonly recovery?: RecoveryState | undefined;
  /**
   * Removes what this worker keeps to recover clients that the operator ends; undefined if the backplane keeps nothing.
   * @returns the ids of the sockets that were disconnected
   */
  removeSessions?(target: RemovalTarget): string[];
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
  /** How far the messages had to go, those to this worker alone included. */
  readonly reach: ReachCounts;
}

/** The parts that a backplane is opened with. */
export interface BackplaneSurroundings {
  /** The links to the other workers of this machine. */
  links: WorkerLinks;
  /** The id of this machine, unique among all machines. */
  machine: string;
  /** The link to the hub of this machine, if it has one. */
  hub?: HubClient | undefined;
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
  events: BackplaneEvents;
  /** The links for connection state recovery, and its bounds. Without links, a worker recovers its own clients. */
  recovery?: Omit<RecoveryOptions, 'spansMachines' | 'subscribed' | 'caughtUp' | 'onBound'>;
}
