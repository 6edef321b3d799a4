import type { TemplatedApp } from 'uWebSockets.js';
import type { Logger } from 'pino';
import type { Server } from 'socket.io';
import type { Engine } from '../engine/engine.js';
import type { Session } from '../engine/session/session.js';
import type { OtherClients } from '../operations/metrics/clients.js';
import type { WorkerMetrics } from '../operations/metrics/worker-metrics.js';
import type { DrainGroup } from './drain.js';

/** Why clients are told to go: `restart`, another worker or machine takes them; `stop`, this server is no more. */
export type DrainReason = 'restart' | 'stop';

/** What a worker offers the application that it hosts. */
export interface HostedWorker {
  /** Unique for the lifetime of the primary. */
  readonly id: number;
  readonly log: Logger;
  /** The app that owns the port: routes are added before the worker listens. */
  readonly app: TemplatedApp;
  /** Whether the app is an SSLApp. */
  readonly secure: boolean;
  readonly engine: Engine;
  /** The Socket.IO server, on the engine and the backplane already. */
  readonly io: Server;
  /** What does not work at present, for the health endpoints. */
  readonly problems: Set<string>;
  readonly metrics: WorkerMetrics;
  /** Whether this worker does what is to be done once per machine. */
  isLeader(): boolean;
  /** Has the clients of the whole machine sent away. */
  drainMachine(): void;
  /** Reports why no worker can run with this configuration; a start ends with it. */
  failed(reason: string): void;
}

/** An application that runs on a worker. */
export interface RunningApplication {
  /** Whether the worker may get clients, as far as the application is concerned. */
  isReady(): boolean;
  /** Whether something that the client has asked for is not answered yet. */
  isBusy(session: Session): boolean;
  /** Clients besides the engine's sessions, to be sent away with them. */
  drainGroups(reason: DrainReason): DrainGroup<object>[];
  /** The same clients, for the metrics. */
  readonly otherClients: readonly OtherClients[];
  /** The clients are gone. The Socket.IO server can still reach the other workers. */
  stop(): void;
  /** Lets go of everything; the Socket.IO server is closed. */
  close(): Promise<void>;
}

/** Any Socket.IO application, as a worker hosts it. */
export interface Application {
  /** Puts the application on a worker that does not listen yet. */
  start(worker: HostedWorker): Promise<RunningApplication>;
}
