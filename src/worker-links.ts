/**
 * What every backplane and whatever else spans the workers of a machine is built on: four methods. An implementation
 *
 * - must deliver what one worker sends to another in the order in which it was sent, each message once, or not at all
 *   once one of the two is gone;
 * - must report each worker that is gone once, and no message of it afterwards;
 * - must not wait for the other workers: sending returns at once, and what cannot be sent any more is dropped;
 * - may be used for several purposes at a time, each with links of its own: they do not hear each other.
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
  /** Calls back with each message; there is one listener. The payload is the listener's to keep. */
  onMessage(listener: (from: number, payload: Buffer) => void): void;
  /** Calls back with the id of each worker that is gone. */
  onLeave(listener: (id: number) => void): void;
}
