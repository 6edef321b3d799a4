/**
 * A part of the hub beside the bridge. One lives in the hub of each machine, and each worker has a link to that of its machine.
 * Messages keep their order with everything else between the same two, such as frames.
 *
 * A service is opened when the first message reaches it, of a worker or of another hub, and is then told of the workers and hubs
 * that are there. What a method throws is reported, and ends nothing else.
 */
export interface HubService<FromWorker = Buffer, FromHub = Buffer> {
  onWorkerHere?(worker: number): void;
  /** Called after all messages of the worker. */
  onWorkerGone(worker: number): void;
  /** A worker has sent a message. Bytes share their memory with others: copy what is kept. */
  onMessage(worker: number, message: FromWorker): void;
  /** The hub of another machine is there, and is sent to from now on. */
  onHubHere(hub: string): void;
  /** The hub has ended, or messages of it or to it were lost. Then it is here again soon, under the same name. */
  onHubGone(hub: string): void;
  onHubMessage(hub: string, message: FromHub): void;
  close(): void;
}

/** How a service reaches workers and other hubs. A message to one that is gone is dropped. */
export interface HubServiceHost<ToWorker = Uint8Array, ToHub = Uint8Array> {
  /** Whether there are no other machines, now and later. */
  readonly isAlone: boolean;
  /** Whether the service is in the process of its only worker, and not in a hub. */
  readonly isLocal?: boolean;
  /**
   * Resolves when the hub is linked with all workers that were there before it, or after 2 s with those that have answered;
   * undefined if none can have been.
   */
  readonly isLinked?: Promise<void> | undefined;
  sendToWorker(worker: number, message: ToWorker): void;
  sendToHub(hub: string, message: ToHub): void;
  /** Does later work of the service: what it throws is reported, as what a method throws. */
  attempt(work: () => void): void;
}

export type OpenHubService = (host: HubServiceHost) => HubService;

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

/** The numbers of the services on the wire. A number is never used for another service. */
export const hubServices = { state: 1, recovery: 2 } as const;
export type HubServiceNumber = (typeof hubServices)[keyof typeof hubServices];

declare module './process.js' {
  interface ProcessHost {
    /** The link of this worker to a service of the hub of its machine. */
    hubLink?: (service: HubServiceNumber) => HubLink;
    /** The number of a Socket.IO server among those of this worker, the same on all workers. */
    numberOf?: (server: object) => number;
  }
}
