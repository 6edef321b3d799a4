import { attempt } from './owner.js';
import { thisProcess } from './process.js';
import type { HubLink, HubLinkListener } from './worker-links.js';

/**
 * A part of the hub beside the bridge. One lives in the hub of each machine, and each worker has a link to that of its machine.
 * Messages keep their order with everything else between the same two, such as frames.
 *
 * A service is opened when the first message of a worker reaches it, and is then told of the workers and hubs that are there.
 * What other hubs have sent to it before is dropped. What a method throws is reported, and ends nothing else.
 */
export interface HubService {
  onWorkerHere(worker: number): void;
  /** Called after all messages of the worker. */
  onWorkerGone(worker: number): void;
  /** A worker has sent a message, which shares its memory with others: copy what is kept. */
  onMessage(worker: number, message: Buffer): void;
  /** The hub of another machine is there, and is sent to from now on. */
  onHubHere(hub: string): void;
  /** The hub has ended, or messages of it or to it were lost. Then it is here again soon, under the same name. */
  onHubGone(hub: string): void;
  onHubMessage(hub: string, message: Buffer): void;
  close(): void;
}

/** What a service does with its hub. What is sent to somebody that is not here is dropped. */
export interface HubServiceHost {
  /** Whether there are no other machines, now and later. */
  readonly isAlone: boolean;
  sendToWorker(worker: number, message: Uint8Array): void;
  sendToHub(hub: string, message: Uint8Array): void;
}

export type OpenHubService = (host: HubServiceHost) => HubService;

/** The numbers of the services on the wire. A number is never used for another service. */
export const hubServices = { state: 1, recovery: 2 } as const;
export type HubServiceNumber = (typeof hubServices)[keyof typeof hubServices];

declare module './process.js' {
  interface ProcessHost {
    /**
     * The link of this worker to a service of the hub of its machine.
     * @param open opens the service, if the hub is in this process
     */
    hubLink?: (service: HubServiceNumber, open: OpenHubService) => HubLink;
    /** The number of a Socket.IO server among those of this worker, the same on all workers. */
    numberOf?: (server: object) => number;
  }
}

/** The number of the only worker of a hub that is in its process. */
const ALONE = 1;

/**
 * The link of this process to a service of its machine: in the hub, or, in a process without other workers, in this process. Call
 * it once for each service.
 */
export function hubLinkOf(service: HubServiceNumber, open: OpenHubService): HubLink {
  return thisProcess.hubLink?.(service, open) ?? linkAlone(open);
}

/** Joins a service with the only worker that it has, in one process. */
function linkAlone(open: OpenHubService): HubLink {
  let listener: HubLinkListener | undefined;
  let waiting: Uint8Array[] = [];
  const deliver = () => {
    const messages = waiting;
    waiting = [];
    for (const message of messages) {
      attempt('handling a message of the hub', () => listener?.onMessage(asBuffer(message)));
    }
  };
  const service = open({
    isAlone: true,
    sendToWorker: (_worker, message) => {
      // Not in the middle of what the worker does.
      if (waiting.length === 0) process.nextTick(deliver);
      waiting.push(message);
    },
    sendToHub: () => {},
  });
  service.onWorkerHere(ALONE);
  return {
    send: (message) => {
      attempt('handling a message of a worker', () => service.onMessage(ALONE, asBuffer(message)));
      return true;
    },
    listen: (given) => {
      listener = given;
      given.onHere();
    },
  };
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}
