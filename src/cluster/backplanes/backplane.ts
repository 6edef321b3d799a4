import type { WorkerLinks } from '../../base/worker-links.js';
import type { SharedWindow } from '../../engine/delivery/shared-window.js';
import type { RecoveryOptions, RecoveryState, RemovalTarget } from '../../features/recovery/index.js';
import type { AdapterFactory } from '../../io/rooms/index.js';
import type { HubClient } from './frames/hub/hub-client.js';

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
  readonly traffic: BackplaneTraffic;
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
  /** The link to the keeper of connection state recovery, and its bounds. Without a link, a worker recovers its own clients. */
  recovery?: Omit<RecoveryOptions, 'server' | 'window' | 'onBound'>;
}

/** The counts of a backplane. */
export interface BackplaneTraffic {
  /** Whether this worker can reach the others. */
  readonly isUp: boolean;
  /** Messages dropped since the start because the bus was down or too slow. */
  readonly unsent: number;
  /** Outages of the backplane since the start. */
  readonly outages: number;
  /** Bytes sent to the bus that it has not confirmed; bounded. */
  readonly pendingBytes: number;
  /** Messages from the backplane dropped since the start because they were malformed. */
  readonly malformed: number;
  /** How often since the start frames of or to another worker were lost, or numbers did not continue; undefined without frames. */
  readonly gaps?: number;
}

/** What a backplane reports about the server that it depends on. */
export interface BackplaneEvents {
  /**
   * The server is down, for the first time or again. Local delivery continues. Called once more in an outage if the
   * server turns out to be up, but to reject commands.
   * @param reason what happened, in the words of the server if it said something
   * @param rejected the command that the server rejects; undefined if it cannot be reached
   */
  onDown(reason: string, rejected?: string): void;
  /**
   * The server is up, for the first time or again.
   * @param unsent how many messages were dropped since it was last up
   */
  onUp(unsent: number): void;
  /** Frames of or to another worker were lost, or do not continue where they were. Messages may be missing. */
  onGap?(worker: string, reason: string): void;
  /** A client got a new session, because a bound of connection state recovery was reached. */
  onRecoveryBound?(reason: string): void;
}
