import { join } from 'node:path';

/** What primary and workers tell each other over the cluster's own channel. */

export type FromWorker =
  /** Other workers can link to this one. */
  | { type: 'meshed' }
  /** This worker listens on the port. */
  | { type: 'listening' }
  /** This worker's loop turns: said once in every {@link ALIVE_INTERVAL_MS}, from `meshed` on. */
  | { type: 'alive' }
  /** Another worker does not read what this one sends it, and is gone for this one. */
  | { type: 'stuck'; worker: number }
  /** The operator wants the clients of this machine sent away. */
  | { type: 'leave' }
  /** This worker cannot run, and another one in its place could not either. */
  | { type: 'failed'; reason: string };

/** `leave` and `stop` are sent to workers that listen. */
export type FromPrimary =
  /** Link with these workers. */
  | { type: 'join'; workers: number[] }
  /** Listen on the port. */
  | { type: 'listen'; port: number }
  /** So many workers have died since the start of the server. */
  | { type: 'deaths'; count: number }
  /** Take clients, but not for long: say that others should, and send those that are there away over `over` ms. */
  | { type: 'leave'; over: number }
  /** Take no new clients: a successor listens. */
  | { type: 'retire' }
  /** Take no new clients, send those that are there away over `over` ms, and finish. */
  | { type: 'stop'; over: number }
  /** Finish at once. */
  | { type: 'stopNow' };

/** In ms. */
export const ALIVE_INTERVAL_MS = 1000;

/** The environment variable with the folder of the workers' sockets. */
export const MESH_DIRECTORY = 'GJALLAR_MESH_DIRECTORY';

/** Where a worker accepts links. */
export const socketOf = (directory: string, worker: number): string => join(directory, `${worker}.sock`);
