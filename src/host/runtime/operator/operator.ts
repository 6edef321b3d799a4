import type { Server } from 'socket.io';
import { own } from '../../../base/owner.js';
import { thisProcess } from '../../../base/process.js';
import { within } from '../../../base/within.js';
import { type Action, type Outcome, readForeignAction } from './actions.js';
import { act, type LocalClients } from './local.js';

/** The event between workers. */
const EVENT = 'gjallar:operator';
/** How long the workers of other machines may take, in ms. Adapters give up after 5 s. */
const TIMEOUT_MS = 6000;

/** What one worker has done. */
export interface Acted {
  count: number;
  /** The ids of the sockets of clients that were offline. Other versions leave it out. */
  kept?: string[];
  /** The worker, and its machine, by which their answers are told apart. */
  worker: string;
  machine: string;
}

/** What the workers that were reached have done. */
export interface Report {
  acted: Acted[];
  complete: boolean;
}

/** The id of this worker. */
export type Place = Pick<Acted, 'worker' | 'machine'>;

/** Carries out the operator's actions on this worker, and passes them on to the workers of all machines. */
export class Operator {
  constructor(
    private readonly place: Place,
    private readonly clients: () => LocalClients,
  ) {}

  /** Obeys the actions that other workers pass on. */
  watch(io: Server): void {
    const onAction = (input: unknown, reply?: unknown) => {
      const action = readForeignAction(input);
      if (!action) return thisProcess.reports.malformed('application', 'an action of the operator');
      const acting = this.act(action).then((acted) => {
        if (typeof reply === 'function') reply(acted);
      });
      own('an action of the operator', acting);
    };
    // The server may still be in its constructor, without an adapter. If that fails, it never gets one.
    queueMicrotask(() => io.sockets?.on(EVENT as never, onAction as never));
  }

  /** Acts on the clients of this worker. */
  async act(action: Action): Promise<Acted> {
    return { ...this.place, ...(await act(this.clients(), action)) };
  }

  /** Acts on the clients of all workers that the backplane reaches. */
  async actEverywhere(action: Action): Promise<Report> {
    const here = this.act(action);
    // The servers of an application have a backplane each, which reaches the same workers.
    const [io] = this.clients().servers;
    const { answers, complete } = io ? await askOthers(io, action) : { answers: [], complete: true };
    return { acted: [await here, ...answers], complete };
  }
}

/** Sums up what workers have done. A worker may have been asked twice, and counts each client once. */
export function outcomeOf(reports: readonly Report[]): Outcome {
  const acted = reports.flatMap((report) => report.acted);
  // All workers of a machine name those that it has kept.
  const kept = new Set(acted.flatMap((one) => one.kept ?? []));
  return {
    count: acted.reduce((sum, { count }) => sum + count, kept.size),
    reached: {
      workers: new Set(acted.map(({ worker }) => worker)).size,
      machines: new Set(acted.map(({ machine }) => machine)).size,
    },
    complete: reports.every(({ complete }) => complete),
  };
}

async function askOthers(io: Server, action: Action): Promise<{ answers: Acted[]; complete: boolean }> {
  if (!reachesOthers(io)) return { answers: [], complete: true };
  try {
    const answers: unknown[] = await within(TIMEOUT_MS, io.serverSideEmitWithAck(EVENT, action), () => {
      throw new Error('no answer');
    });
    return { answers: answers.filter(isActed), complete: answers.every(isActed) };
  } catch (error) {
    // Some have answered.
    const { responses = [] } = error as { responses?: unknown[] };
    return { answers: responses.filter(isActed), complete: false };
  }
}

/** The adapter that keeps rooms in memory cannot reach other workers, and would never answer. */
function reachesOthers(io: Server): boolean {
  let owner: object | null = io.of('/').adapter;
  while (owner && !Object.hasOwn(owner, 'serverSideEmit')) owner = Object.getPrototypeOf(owner) as object | null;
  return owner !== null && owner.constructor.name !== 'Adapter';
}

function isActed(answer: unknown): answer is Acted {
  const { count, kept = [], worker, machine } = (answer ?? {}) as Partial<Acted>;
  if (!Array.isArray(kept) || !kept.every((id) => typeof id === 'string')) return false;
  return Number.isSafeInteger(count) && typeof worker === 'string' && typeof machine === 'string';
}
