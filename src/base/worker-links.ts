/**
 * The methods on which the embedded backplane, and other code that spans the workers of a machine, is built. An
 * implementation
 *
 * - must deliver the messages of one worker to another in order and once each, or not at all once one of the two is
 *   gone;
 * - must report each worker that is gone once, and deliver no message of it afterwards;
 * - must not wait for the other workers: sending returns at once, and messages that cannot be sent are dropped;
 * - may serve several purposes at the same time, each with links of its own, which do not hear each other.
 */
export interface WorkerLinks {
  /** This worker's id. */
  readonly id: number;
  /** The ids of the other workers. */
  readonly members: readonly number[];
  /** Sends to one other worker. The payload may not be changed afterwards. */
  send(to: number, payload: Uint8Array): void;
  /** Sends to all other workers. */
  broadcast(payload: Uint8Array): void;
  /**
   * Hands to the system what was sent in this turn, so that it arrives even if this worker is killed next. Leave it out
   * if sending does that.
   */
  flush?(): void;
  /** Calls back with each message. There is one listener, which may keep the payload. */
  onMessage(listener: (from: number, payload: Buffer) => void): void;
  /** Calls back with the id of each worker that is gone. */
  onLeave(listener: (id: number) => void): void;
}

/**
 * The link of a worker to the hub of its machine. Messages arrive in order and once each, or not at all once one of the two is
 * gone.
 */
export interface HubLink {
  /** Hands a message to the system at once. Returns false if the hub is not there. */
  send(message: Uint8Array): boolean;
  /** There is one listener. */
  listen(listener: HubLinkListener): void;
}

export interface HubLinkListener {
  /** The hub is there, for the first time or again. It may have been already. */
  onHere(): void;
  onMessage(message: Buffer): void;
  onGone(): void;
}
