/** What primary and workers tell each other over the cluster's own channel. */

export type FromWorker =
  /** Other workers can link to this one. */
  | { type: 'meshed' }
  /** This worker listens on the port. */
  | { type: 'listening' }
  /** This worker cannot run, and another one in its place could not either. */
  | { type: 'failed'; reason: string };

export type FromPrimary =
  /** Link with these workers. */
  | { type: 'join'; workers: number[] }
  /** Listen on the port. */
  | { type: 'listen'; port: number }
  /** Finish. */
  | { type: 'stop' };

/** The environment variable with the folder of the workers' sockets. */
export const MESH_DIRECTORY = 'GJALLAR_MESH_DIRECTORY';
