import type { Namespace, RemoteSocket, Socket } from 'socket.io';
import type { Room } from 'socket.io-adapter';
import { clearTimeout, setTimeout } from '../../base/clock.js';
import { own } from '../../base/owner.js';
import { type AnyNamespace, type AnyServer, namespaceOf } from '../any.js';
import { detailsOf, remoteSocketsOf, type SocketDetails, sendableSocket } from '../socket-io.private.js';
import { hasOthers } from './local-adapter.js';

/** Adapters themselves wait for 5 s. */
const MAX_WAIT_MS = 6000;

/** The event between servers. */
const EVENT = 'gjallar:sockets';
// biome-ignore lint/suspicious/noExplicitAny: socket.io's own types for servers with any events
type AnyRemoteSocket = RemoteSocket<any, any>;

/** The number of sockets on all workers and machines. */
export interface SocketCount {
  readonly sockets: number;
  /** False if a worker has not answered within 5 s, or the bus is down. Its sockets are not counted. */
  readonly isComplete: boolean;
}

/** The sockets on all workers and machines. */
export interface ReachableSockets {
  /** What `fetchSockets()` returns: the sockets of this worker, and an object for each socket of the others. */
  readonly sockets: readonly AnyRemoteSocket[];
  /** False if a worker has not answered within 5 s, or the bus is down. Its sockets are missing. */
  readonly isComplete: boolean;
}

interface Question {
  readonly rooms: readonly Room[];
  /** Whether the answer describes the sockets, or only counts them. */
  readonly isDetailed: boolean;
}

/**
 * Counts the sockets in rooms on all workers and machines. Each worker answers with one number, where `fetchSockets()`
 * sends a description of each socket.
 *
 * ```
 * const { sockets } = await countSockets(io, 'room');
 * ```
 *
 * @param of a server, whose namespace `/` is meant, or a namespace; all servers that share it must run on gjallar
 * @param rooms one room or several; without any, all sockets of the namespace. A socket in several of them counts once.
 * @returns the count; it never rejects because a worker is silent
 */
export async function countSockets(
  of: AnyServer | AnyNamespace,
  rooms: Room | readonly Room[] = [],
): Promise<SocketCount> {
  const nsp = namespaceOf(of);
  const question: Question = { rooms: [rooms].flat(), isDetailed: false };
  const { answers, isComplete } = await askServers(nsp, EVENT, question, isCount);
  return { sockets: answers.reduce((sum, count) => sum + count, countHere(nsp, question.rooms)), isComplete };
}

/**
 * Fetches the sockets in rooms on all workers and machines as `fetchSockets()` does. If a worker does not answer,
 * `fetchSockets()` rejects after 5 s. This resolves then with the sockets of all others.
 *
 * @param of a server, whose namespace `/` is meant, or a namespace; all servers that share it must run on gjallar
 * @param rooms one room or several; without any, all sockets of the namespace
 * @returns the sockets; it never rejects because a worker is silent
 */
export async function fetchReachableSockets(
  of: AnyServer | AnyNamespace,
  rooms: Room | readonly Room[] = [],
): Promise<ReachableSockets> {
  const nsp = namespaceOf(of);
  const question: Question = { rooms: [rooms].flat(), isDetailed: true };
  const [here, { answers, isComplete }] = await Promise.all([
    socketsHere(nsp, question.rooms),
    askServers(nsp, EVENT, question, areDetails),
  ]);
  // As in the result of `fetchSockets()`, a socket of this worker is the socket itself.
  const local = here as unknown[] as AnyRemoteSocket[];
  return { sockets: [...local, ...(await remoteSocketsOf(nsp, answers.flat()))], isComplete };
}

/** Lets a namespace answer the questions of other servers. */
export function answerQuestions(nsp: Namespace): void {
  listenOnce(nsp, EVENT, answer);
}

function answer(this: Namespace, question: unknown, reply: unknown): void {
  // Other programs may publish on the backplane too.
  if (typeof reply !== 'function' || !isQuestion(question)) return;
  const { rooms, isDetailed } = question;
  if (isDetailed) own('describing the sockets of this worker', describeHere(this, rooms).then(reply as () => void));
  else reply(countHere(this, rooms));
}

function countHere({ adapter, sockets }: Namespace, rooms: readonly Room[]): number {
  if (rooms.length === 0) return sockets.size;
  const members = rooms.map((room): ReadonlySet<string> => adapter.rooms.get(room) ?? new Set());
  return members.length === 1 ? members[0]!.size : new Set(members.flatMap((ids) => [...ids])).size;
}

function socketsHere(nsp: Namespace, rooms: readonly Room[]): Promise<Socket[]> {
  return nsp.local.in([...rooms]).fetchSockets() as Promise<unknown> as Promise<Socket[]>;
}

async function describeHere(nsp: Namespace, rooms: readonly Room[]): Promise<SocketDetails[]> {
  return (await socketsHere(nsp, rooms)).map((socket) => sendableSocket(detailsOf(socket)));
}

function isQuestion(value: unknown): value is Question {
  const { rooms, isDetailed } = (value ?? {}) as Partial<Question>;
  return areRooms(rooms) && typeof isDetailed === 'boolean';
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

function areDetails(value: unknown): value is SocketDetails[] {
  return Array.isArray(value) && value.every((one) => typeof one?.id === 'string' && areRooms(one.rooms));
}

/** Some applications use numbers for rooms. */
function areRooms(value: unknown): value is Room[] {
  return Array.isArray(value) && value.every((room) => typeof room === 'string' || typeof room === 'number');
}

/**
 * Asks all other servers of a namespace, and waits for those that answer. `serverSideEmitWithAck()` rejects if one does not.
 *
 * ```
 * io.on('load', (_question, reply) => reply(os.loadavg()[0]));
 * const { answers } = await askServers(io.of('/'), 'load', null, (answer) => typeof answer === 'number');
 * ```
 * @param isExpected whether an answer is one that the application gives: other programs may publish on the backplane, too
 * @returns the answers, and whether all servers have given one
 */
export async function askServers<Expected>(
  nsp: AnyNamespace,
  event: string,
  question: unknown,
  isExpected: (answer: unknown) => answer is Expected,
): Promise<{ answers: Expected[]; isComplete: boolean }> {
  const isUp = () => (nsp.adapter as { readonly isUp?: boolean }).isUp !== false;
  if (!hasOthers(nsp.adapter)) return { answers: [], isComplete: isUp() };
  const { error, responses } = await new Promise<{ error: unknown; responses: readonly unknown[] }>((resolve) => {
    const onEnd = (error: unknown, responses: readonly unknown[] = []) => {
      clearTimeout(timer);
      resolve({ error, responses });
    };
    // An adapter whose Redis is down may never call back.
    const timer = setTimeout(() => onEnd('no answer'), MAX_WAIT_MS);
    nsp.serverSideEmit(event, question, onEnd);
  });
  const answers = responses.filter(isExpected);
  return { answers, isComplete: !error && answers.length === responses.length && isUp() };
}

/** Listens to an event of other servers. A server makes a further adapter for the same namespace when the application sets one. */
function listenOnce(nsp: Namespace, event: string, listener: (this: Namespace, ...values: unknown[]) => void): void {
  const listeners = nsp.listeners(event as never) as unknown[];
  if (!listeners.includes(listener)) nsp.on(event as never, listener as never);
}
