/** The counts of a backplane. */
export interface BackplaneTraffic {
  /** Whether this worker can reach the others. */
  readonly isUp: boolean;
  /** Messages dropped since the start because the backplane was down or too slow. */
  readonly unsent: number;
  /** Outages of the backplane since the start. */
  readonly outages: number;
  /** Bytes sent to the backplane that it has not confirmed; bounded. */
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
  /**
   * Servers or emitters on the same Redis use another wire, so that this worker and they do not hear each other; or they
   * have been silent for a minute.
   * @param bus the value of the option BUS that they use; `redis-sharded` for the stock adapter on sharded pub/sub
   */
  onOtherWire?(bus: string, isThere: boolean): void;
  /** Frames of or to another worker were lost, or do not continue where they were. Messages may be missing. */
  onGap?(worker: string, reason: string): void;
  /** A client got a new session, because a bound of connection state recovery was reached. */
  onRecoveryBound?(reason: string): void;
}
