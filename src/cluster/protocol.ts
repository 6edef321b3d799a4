import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Problem } from '../base/problems.js';
import { Question } from '../base/question.js';

/** The messages between the primary and the workers, over the channel of the cluster module. */

/** How a message is sent. The application of a worker may use the same channel for messages of its own. */
export interface Passed<T> {
  gjallar: T;
}

/** The message in an envelope; undefined for a message of the application. */
export function opened<T>(message: unknown): T | undefined {
  return (message as Partial<Passed<T>> | undefined)?.gjallar;
}

/** An address to listen on. */
export interface ListenAddress {
  /** By default, all addresses of the machine. */
  host?: string | undefined;
  /** 0 picks a free port. */
  port: number;
  /** For port 0: how many ports the worker has let the primary pick before. All workers get the same port. */
  turn: number;
  /** For port 0: the port that the primary had picked, and that another process has taken since. */
  taken?: number | undefined;
}

/** Why a worker cannot listen, in the terms of node:net. */
export interface ListenFailure {
  code: string;
  message: string;
}

/** A question of the primary to its workers. */
export type QuestionKind = 'health' | 'figures' | 'clients' | 'act';

export type FromWorker =
  /** This worker accepts links from other workers. */
  | { type: 'meshed' }
  /** This worker wants to listen on an address that it shares with the other workers. */
  | { type: 'claim'; id: number; address: ListenAddress }
  /** This worker listens on its first port, or its application listens on none. */
  | { type: 'listening'; isOnPort: boolean }
  /** This worker's event loop runs. Sent every {@link ALIVE_INTERVAL_MS} after `meshed`. */
  | { type: 'alive' }
  /** Another worker does not read messages from this one, and their link is closed. */
  | { type: 'stuck'; worker: number }
  /** This worker accepts no new clients any more. */
  | { type: 'retired' }
  /** The last figures of this worker, which ends. */
  | { type: 'ending'; figures: unknown }
  /** The operator has asked to drain this machine. */
  | { type: 'leave' }
  /** A client of this worker asks for the metrics of the machine. */
  | { type: 'scrape'; id: number }
  /** The answer to `ask`; undefined if the worker cannot answer. */
  | { type: 'answer'; id: number; answer: unknown }
  /** This worker cannot run, and a replacement could not either. */
  | { type: 'failed'; reason: string };

/** The part of a worker's health that a reload looks at. */
export interface Readiness {
  readonly state: 'not ready' | 'ready' | 'draining';
  readonly problems: readonly Problem[];
}

/** `leave` and `stop` are sent to workers that listen. */
export type FromPrimary =
  /** Link with these workers. */
  | { type: 'join'; workers: number[] }
  /** The worker may listen on this address, or it cannot. */
  | { type: 'claimed'; id: number; local?: AddressInfo; failure?: ListenFailure }
  /** The answer to `scrape`; undefined if the metrics cannot be read. */
  | { type: 'scraped'; id: number; text: string | undefined }
  /** Answer a question. */
  | { type: 'ask'; id: number; question: QuestionKind; input?: unknown }
  /** How many reloads have replaced the workers, how many were aborted, and whether the last one was. */
  | { type: 'reloads'; finished: number; aborted: number; isLastAborted: boolean }
  /** Whether the hub may hang. */
  | { type: 'hub'; isSilent: boolean }
  /** Report `draining` and disconnect the clients over `over` ms, again and again. New clients are still served. */
  | { type: 'leave'; over: number }
  /** Accept no new clients, because a successor listens. */
  | { type: 'retire' }
  /** These workers were replaced: the first of each two by the second, which has its sessions. */
  | { type: 'successors'; of: readonly (readonly [worker: number, successor: number])[] }
  /** Accept no new clients, drain over `over` ms, and exit. Sessions may go on on the successor. */
  | { type: 'stop'; over: number; successor?: number | undefined }
  /** Exit at once. */
  | { type: 'stopNow' };

/** How often a worker reports that it is alive, in ms. */
export const ALIVE_INTERVAL_MS = 1000;

/** The environment variable with the folder of the workers' sockets. */
export const MESH_DIRECTORY = 'GJALLAR_MESH_DIRECTORY';
/** The environment variable with the origin of the machine's clock, see `base/clock.ts`. */
export const TIME_ORIGIN = 'GJALLAR_TIME_ORIGIN';

/** The environment variable with the id of the machine: 8 random characters for each start of the primary. */
export const MACHINE_ID = 'GJALLAR_MACHINE_ID';

/** The sockets of a worker: on one it accepts links, on the other one the connections of clients that move to it. */
export const socketKinds = ['sock', 'move'] as const;

export const socketOf = (directory: string, worker: number, kind: (typeof socketKinds)[number] = 'sock'): string =>
  join(directory, `${worker}.${kind}`);

/** Questions to several workers that some of them have not answered yet. */
export class Questions {
  private readonly open = new Map<number, Question<number, unknown>>();
  private lastId = 0;

  /**
   * Asks workers. Resolves when all have answered or are gone, or when the time is up. The value is undefined for a worker
   * that has not answered.
   * @param timeoutMs how long the workers may take
   * @param send asks one worker; `id` is a number below 2^32
   */
  ask(
    workers: readonly number[],
    timeoutMs: number,
    send: (worker: number, id: number) => void,
  ): Promise<Map<number, unknown>> {
    if (workers.length === 0) return Promise.resolve(new Map());
    this.lastId = (this.lastId + 1) >>> 0;
    const id = this.lastId;
    return new Promise((resolve) => {
      const question = new Question<number, unknown>(workers, timeoutMs, ({ answers }) => {
        this.open.delete(id);
        resolve(new Map(workers.map((worker) => [worker, answers.get(worker)])));
      });
      this.open.set(id, question);
      for (const worker of workers) send(worker, id);
    });
  }

  answered(worker: number, id: number, answer: unknown): void {
    this.open.get(id)?.answered(worker, answer);
  }

  /** A worker has ended. */
  gone(worker: number): void {
    for (const question of [...this.open.values()]) question.gone(worker);
  }
}
