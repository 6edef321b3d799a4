import cluster from 'node:cluster';
import { randomUUID } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { hostname } from 'node:os';
import type { Namespace } from 'socket.io';
import { GjallarError } from '../../errors.js';
import { hasOthers } from '../local-adapter.js';
import { type AnyNamespace, type AnyServer, askServers, listenOnce, namespaceOf } from './questions.js';

/** The event between servers. */
const EVENT = 'gjallar:servers';

/** A server: one Socket.IO server of a process. */
export interface ServerDescription {
  /** Unique among all servers, and new with each start. */
  readonly id: string;
  /** The name of its machine. */
  readonly host: string;
  readonly pid: number;
  /** The number of the worker under `gjallar run`, or of `node:cluster`; undefined in a process alone. */
  readonly worker?: number;
}

/** Servers with all of these properties. */
export type ServerTarget = Partial<ServerDescription>;

/** The servers of a namespace. */
export interface ReachableServers {
  /** This server is the first one. */
  readonly servers: readonly ServerDescription[];
  /** False if a server has not answered within 5 s. */
  readonly isComplete: boolean;
}

const properties = ['id', 'host', 'pid', 'worker'] as const;

/** Names that mean something else on a namespace. */
const RESERVED = new Set(['connect', 'connection', 'new_namespace']);

/** Keeps the id of a server on the server itself, because a process may load several copies of gjallar. */
const ID = Symbol.for('gjallar.server.id');

function describe({ server }: Namespace): ServerDescription {
  const marked = server as unknown as { [ID]?: string };
  marked[ID] ??= randomUUID();
  const { worker } = cluster;
  return { id: marked[ID], host: hostname(), pid: process.pid, ...(worker && { worker: worker.id }) };
}

interface Message {
  readonly to: readonly ServerTarget[];
  readonly event: string;
  readonly values: readonly unknown[];
}

/**
 * Lists the servers that share a namespace.
 * @param of a server, whose namespace `/` is meant, or a namespace; all servers that share it must run on gjallar
 * @returns the servers that have answered within 5 s; it does not reject if one does not answer
 */
export async function listServers(of: AnyServer | AnyNamespace): Promise<ReachableServers> {
  const nsp = namespaceOf(of);
  const { answers, isComplete } = await askServers(nsp, EVENT, 'who', isDescription);
  return { servers: [describe(nsp), ...answers], isComplete };
}

/**
 * Emits an event to some servers only; otherwise like `serverSideEmit()`.
 *
 * ```
 * const { servers } = await listServers(io);
 * serverSideEmitTo(io, servers[1], 'reload', 'prices');
 * serverSideEmitTo(io, { host: 'web-2' }, 'reload', 'prices');
 * ```
 *
 * @param of a server, whose namespace `/` is meant, or a namespace
 * @param to one target or several: a server gets the event once if it has all properties of one of them. Unlike with
 *   `serverSideEmit()`, this server gets the event too if a target names it. A target without properties names no server.
 * @param event the name of the event, to which servers listen with `io.on()`
 * @throws GjallarError BAD_INPUT for an event of Socket.IO itself, such as `connection`, and for an acknowledgement as the last
 *   value: use `serverSideEmit()` for one
 */
export function serverSideEmitTo(
  of: AnyServer | AnyNamespace,
  to: ServerTarget | readonly ServerTarget[],
  event: string,
  ...values: unknown[]
): void {
  if (RESERVED.has(event)) {
    throw new GjallarError('BAD_INPUT', `"${event}" cannot be the name of an event of servers. Use another one.`);
  }
  if (typeof values.at(-1) === 'function') {
    throw new GjallarError('BAD_INPUT', 'serverSideEmitTo() takes no acknowledgement. Use serverSideEmit() for one.');
  }
  const nsp = namespaceOf(of);
  const message: Message = { to: [to].flat().map(plain), event, values };
  if (hasOthers(nsp.adapter)) (nsp as AnyNamespace).serverSideEmit(EVENT, message);
  if (isFor(nsp, message)) emit(nsp, message);
}

/** Lets a namespace take part. */
export function answerServers(nsp: Namespace): void {
  listenOnce(nsp, EVENT, onMessage);
}

function onMessage(this: Namespace, message: unknown, reply: unknown): void {
  if (typeof reply === 'function') reply(describe(this));
  // Other programs may publish on the backplane too.
  else if (isMessage(message) && isFor(this, message)) emit(this, message);
}

/** `emit()` of a namespace is for its clients. */
function emit(nsp: Namespace, { event, values }: Message): void {
  EventEmitter.prototype.emit.call(nsp, event, ...values);
}

/** Without properties that are undefined, so that they do not differ from missing ones on their way. */
function plain(target: ServerTarget): ServerTarget {
  return Object.fromEntries(properties.flatMap((name) => (target[name] === undefined ? [] : [[name, target[name]]])));
}

function isFor(nsp: Namespace, { to }: Message): boolean {
  const own = describe(nsp);
  return to.some((target) => {
    const named = properties.filter((name) => target[name] !== undefined);
    // A target without properties is a mistake, and does not stand for all servers.
    return named.length > 0 && named.every((name) => target[name] === own[name]);
  });
}

function isMessage(value: unknown): value is Message {
  const { to, event, values } = (value ?? {}) as Partial<Message>;
  const areTargets = Array.isArray(to) && to.every((target) => typeof target === 'object' && target !== null);
  return areTargets && typeof event === 'string' && !RESERVED.has(event) && Array.isArray(values);
}

function isDescription(value: unknown): value is ServerDescription {
  const { id, host, pid } = (value ?? {}) as Partial<ServerDescription>;
  return typeof id === 'string' && typeof host === 'string' && typeof pid === 'number';
}
