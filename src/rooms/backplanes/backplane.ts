import type { AdapterFactory } from '../native-rooms.js';

/** What joins this worker with others: adapters for the namespaces, and what they depend on. */
export interface Backplane {
  /** What people know it by; a value of the option BUS. */
  readonly name: string;
  readonly factory: AdapterFactory;
  /**
   * Resolves when everything that was asked for so far is in place: connections, and subscriptions of the adapters.
   * Never rejects: a bus that is away keeps trying.
   */
  ready(): Promise<void>;
  readonly traffic: BackplaneTraffic;
  close(): void;
}

/** What a bus counts. */
export interface BackplaneTraffic {
  /** Whether this worker can reach the others. */
  readonly isUp: boolean;
  /** Messages that were given up, since the start: the bus was away, or could not keep up. */
  readonly unsent: number;
  /** How often the bus was away, since the start. */
  readonly outages: number;
  /** Bytes that are on their way to the bus; bounded. */
  readonly pendingBytes: number;
}

/** What a bus tells of the server that it depends on. */
export interface BackplaneEvents {
  /** It is away, for the first time or again. What is local goes on. */
  onDown(reason: string): void;
  /**
   * It is there, for the first time or again.
   * @param unsent how many messages were given up since it was last there
   */
  onUp(unsent: number): void;
}
