import type { Namespace, Server, Socket } from 'socket.io';
import { own } from '../../../base/owner.js';
import { thisProcess } from '../../../base/process.js';
import { within } from '../../../base/within.js';
import type { Backplane } from '../../../cluster/backplanes/index.js';
import type { Engine } from '../../../engine/engine.js';
import { canonicalAddress } from '../../../engine/limits/address-limits.js';
import { privateParts } from '../../../io/socket-io-server.private.js';
import { type Action, type OperatorSeam, type Outcome, readForeignAction, type Target } from './actions.js';

/** The event between workers. */
const EVENT = 'gjallar:operator';
/** How long the workers of other machines may take, in ms. Adapters give up after 5 s. */
const TIMEOUT_MS = 6000;

/** What one worker has done. */
interface Acted {
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
export type ActingWorker = Pick<Acted, 'worker' | 'machine'>;

/** Carries out the operator's actions on this worker, and passes them on to the workers of all machines. */
export class Operator {
  constructor(
    private readonly place: ActingWorker,
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

/** The clients of one worker. */
interface LocalClients {
  readonly servers: readonly Server[];
  readonly engines: readonly Engine[];
  readonly backplanes: readonly Backplane[];
  readonly seam: OperatorSeam;
}

/** The part of a session that the actions use. Sessions of stock engines have it, too. */
interface Connection {
  readonly id: string;
  readonly remoteAddress: string | undefined;
  close(): void;
}

/** What became of the clients of one worker. */
export interface EndedSockets {
  /** How many there were. */
  count: number;
  /** The ids of the sockets of clients that were offline. Other workers of the machine name them, too. */
  kept: string[];
}

/** Acts on the clients of this worker. */
export async function act(clients: LocalClients, given: Action): Promise<EndedSockets> {
  const action = withNames(given, clients.seam);
  const target = action.type === 'disconnect' ? action.target : action;
  const count = actOnConnected(clients, action);
  const kept = await Promise.all(clients.backplanes.map((backplane) => backplane.removeSessions?.(target) ?? []));
  return { count, kept: kept.flat() };
}

/** The action, with names as the application writes them. */
function withNames(action: Action, { nameOf }: OperatorSeam): Action {
  if (!nameOf) return action;
  if (action.type === 'close-room') return { ...action, room: nameOf(action.room) };
  return 'user' in action.target ? { ...action, target: { user: nameOf(action.target.user) } } : action;
}

function actOnConnected(clients: LocalClients, action: Action): number {
  if (action.type === 'disconnect') return disconnect(clients, action.target);
  const { room, namespace } = action;
  if (namespace === '/' && clients.seam.closeRoom) return clients.seam.closeRoom(room);
  return clients.servers.reduce((count, io) => {
    const found = privateParts(io)._nsps.get(namespace);
    return count + (found ? closeRoom(found, room) : 0);
  }, 0);
}

function disconnect({ servers, engines, seam }: LocalClients, target: Target): number {
  const matches = matcherOf(target, seam);
  const sockets = new Map<Connection, Socket[]>();
  for (const socket of allSockets(servers)) {
    const connection = socket.conn as unknown as Connection;
    const others = sockets.get(connection);
    if (others) others.push(socket);
    else sockets.set(connection, [socket]);
  }
  // Sessions that have not connected to a namespace yet have no socket.
  for (const { clients } of engines) {
    for (const session of Object.values(clients)) if (!sockets.has(session)) sockets.set(session, []);
  }
  let count = seam.disconnectOthers?.(target) ?? 0;
  for (const [connection, own] of sockets) {
    if (!matches(connection, own)) continue;
    count++;
    for (const socket of own) seam.beforeDisconnect?.(socket);
    if (own.length > 0) own[0]!.disconnect(true);
    else connection.close();
  }
  return count;
}

function matcherOf(target: Target, seam: OperatorSeam): (connection: Connection, sockets: Socket[]) => boolean {
  if ('user' in target) return (_, sockets) => sockets.some((socket) => seam.userOf(socket) === target.user);
  if ('id' in target) return ({ id }, sockets) => id === target.id || sockets.some((socket) => socket.id === target.id);
  const address = canonicalAddress(target.address);
  return ({ remoteAddress }) => remoteAddress !== undefined && canonicalAddress(remoteAddress) === address;
}

function* allSockets(servers: readonly Server[]): Iterable<Socket> {
  for (const io of servers) for (const { sockets } of privateParts(io)._nsps.values()) yield* sockets.values();
}

/** Takes the sockets of this worker out of a room. */
function closeRoom({ adapter, sockets }: Namespace, room: string): number {
  const ids = [...(adapter.rooms.get(room) ?? [])].filter((id) => id !== room);
  // The room of a socket's own id stays: acknowledgements and messages to the socket need it.
  for (const id of ids) void sockets.get(id)?.leave(room);
  return ids.length;
}
