import { join } from 'node:path';

/** The messages between the primary and the workers, over the channel of the cluster module. */

export type FromWorker =
  /** This worker accepts links from other workers. */
  | { type: 'meshed' }
  /** This worker listens on the port. */
  | { type: 'listening' }
  /** This worker's event loop runs. Sent every {@link ALIVE_INTERVAL_MS} after `meshed`. */
  | { type: 'alive' }
  /** Another worker does not read messages from this one, and their link is closed. */
  | { type: 'stuck'; worker: number }
  /** The operator has asked to drain this machine. */
  | { type: 'leave' }
  /** This worker cannot run, and a replacement could not either. */
  | { type: 'failed'; reason: string };

/** `leave` and `stop` are sent to workers that listen. */
export type FromPrimary =
  /** Link with these workers. */
  | { type: 'join'; workers: number[] }
  /** Listen on the port. */
  | { type: 'listen'; port: number }
  /** The number of workers that have died since the start of the server. */
  | { type: 'deaths'; count: number }
  /** Report `draining` and disconnect the clients over `over` ms, again and again. New clients are still served. */
  | { type: 'leave'; over: number }
  /** Accept no new clients, because a successor listens. */
  | { type: 'retire' }
  /** Accept no new clients, drain over `over` ms, and exit. */
  | { type: 'stop'; over: number }
  /** Exit at once. */
  | { type: 'stopNow' };

/** How often a worker reports that it is alive, in ms. */
export const ALIVE_INTERVAL_MS = 1000;

/** The environment variable with the folder of the workers' sockets. */
export const MESH_DIRECTORY = 'GJALLAR_MESH_DIRECTORY';

/** The socket on which a worker accepts links. */
export const socketOf = (directory: string, worker: number): string => join(directory, `${worker}.sock`);
