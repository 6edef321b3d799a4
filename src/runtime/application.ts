import type { Logger } from 'pino';
import type { Server } from 'socket.io';
import type { Engine } from '../engine/engine.js';
import type { Session } from '../engine/session/session.js';
import type { TopKeys } from '../engine/top-keys.js';
import type { OtherClients } from '../operations/metrics/clients.js';
import type { WorkerMetrics } from '../operations/metrics/worker-metrics.js';
import type { TemplatedApp } from '../sockets.js';
import type { DrainGroup } from './lifecycle/drain.js';
import type { Action, Outcome } from './operator/actions.js';
import type { OperatorSeam } from './operator/seam.js';

/** Why clients are disconnected: `restart` if another worker or machine accepts them, `stop` if the server ends. */
export type DrainReason = 'restart' | 'stop';

/** The parts that a worker offers the application that it hosts. */
export interface HostedWorker {
  /** Unique for the lifetime of the primary. */
  readonly id: number;
  readonly log: Logger;
  /** The app that owns the port. Add routes before the worker listens. */
  readonly app: TemplatedApp;
  /** Whether the app is an SSLApp. */
  readonly secure: boolean;
  readonly engine: Engine;
  /** The Socket.IO server, already connected to the engine and the backplane. */
  readonly io: Server;
  readonly metrics: WorkerMetrics;
  /** Call it when a message from the application on another worker is dropped because it is malformed. */
  onMalformed(reason: string): void;
  /** Whether this worker does the tasks that one worker per machine must do. */
  isLeader(): boolean;
  /** Drains all workers of the machine. */
  drainMachine(): void;
  /** Carries out an action of the operator on all workers and machines. */
  act(action: Action): Promise<Outcome>;
  /** Reports why no worker can run with this configuration. The start of the server then fails. */
  failed(reason: string): void;
}

/** How the operator sees the rooms and users of an application. */
export interface ApplicationView {
  /** The name of a room of Socket.IO; undefined for a room that is not the users'. */
  nameOf(namespace: string, room: string): string | undefined;
  /** The number of members of a room besides those that its adapter counts. */
  moreMembersOf?(namespace: string, room: string): number;
  /** The users that send the most messages. */
  readonly users?: TopKeys;
}

/** The view of an application that adds nothing to what Socket.IO knows. */
export const ordinaryView: ApplicationView = { nameOf: (_namespace, room) => room };

/** An application that runs on a worker. */
export interface RunningApplication {
  /** Whether the application is ready for clients. */
  isReady(): boolean;
  /** Whether a request of the client has no reply yet. */
  isBusy(session: Session): boolean;
  /** Clients besides the engine's sessions, which a drain must disconnect too. */
  drainGroups(reason: DrainReason): DrainGroup<object>[];
  /** The same clients, for the metrics. */
  readonly otherClients: readonly OtherClients[];
  /** How the application takes part in the operator's actions. */
  readonly operator: OperatorSeam;
  /** What the operator sees. */
  readonly view: ApplicationView;
  /** Called when the clients are gone. The Socket.IO server can still reach the other workers. */
  stop(): void;
  /** Releases all resources. The Socket.IO server is closed by then. */
  close(): Promise<void>;
}

/** Any Socket.IO application that a worker can host. */
export interface Application {
  /** Starts the application on a worker that does not listen yet. */
  start(worker: HostedWorker): Promise<RunningApplication>;
}
