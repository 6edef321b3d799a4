import type { Session } from '../../engine/session/session.js';
import type { TopKeys } from '../../engine/top-keys.js';
import type { MachineWorker } from './machine-worker.js';
import type { OperatorSeam } from './operator/actions.js';

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
  /** Resolves once clients can connect, with whether it listens on a port; or when it is taken for one that never does. */
  listen(): Promise<boolean>;
  /** Accepts no new connections from now on. */
  stopListening(): void;
  /** Called before the clients of a server that ends are disconnected. The drain waits for it. */
  farewell?(): Promise<void>;
  /** Whether the application is ready for clients. */
  isReady(): boolean;
  /** Whether no request besides those to the engines is in progress. */
  isIdle(): boolean;
  /** Whether a request of the client has no reply yet. */
  isBusy(session: Session): boolean;
  /** How the application takes part in the operator's actions. */
  readonly operator?: OperatorSeam;
  /** What the operator sees. */
  readonly view?: ApplicationView;
  /** Called when the clients are gone. The Socket.IO server can still reach the other workers. */
  stop(): void;
  /** Closes the Socket.IO server, and releases all resources. It may end the process itself. */
  close(): Promise<void>;
}

/** An application that a worker can host: the chat service, or the user's own under `gjallar run`. */
export interface Application {
  /** Whether the worker goes on after an exception that no handler has caught. */
  readonly survivesExceptions: boolean;
  /** Starts the application on a worker that does not listen yet. */
  start(worker: MachineWorker): Promise<RunningApplication>;
}
