import { isIP } from 'node:net';
import type { Socket } from 'socket.io';
import { GjallarError } from '../../../base/errors.js';

/** Whose connections end: exactly one of the three. */
export type Target =
  | { user: string }
  /** The address of a client, as the log shows it. */
  | { address: string }
  /** The id of a socket (`socket.id`) or of its session (`socket.conn.id`). */
  | { id: string };

/** What the operator does to clients, on all workers and machines. */
export type Action =
  | { type: 'disconnect'; target: Target }
  /** Takes all sockets out of a room. They may join it again. */
  | { type: 'close-room'; room: string; namespace: string };

/** What an action has done. */
export interface Outcome {
  /**
   * The number of connections that were ended, or of clients that were taken out of the room. Clients count, too, that
   * were offline and could have recovered their session.
   */
  count: number;
  /** The workers and machines that have acted. */
  reached: { workers: number; machines: number };
  /** Whether all workers have acted, as far as this worker knows of others. */
  complete: boolean;
}

/** Longer texts are the name of nothing. */
const MAX_LENGTH = 1024;

/** @throws GjallarError BAD_INPUT */
export function readAction(type: Action['type'], input: unknown): Action {
  const fields = typeof input === 'object' && input !== null ? (input as Record<string, unknown>) : {};
  if (type === 'disconnect') return { type, target: readTarget(fields) };
  const { room, namespace = '/' } = fields;
  if (!isText(room) || !isText(namespace)) {
    throw new GjallarError(
      'BAD_INPUT',
      'The body names no room. Send { "room": "…" }, and "namespace" if it is not "/".',
    );
  }
  return { type, room, namespace: namespace.startsWith('/') ? namespace : `/${namespace}` };
}

/** Reads an action of another worker. It comes over the backplane, where other programs may publish too. */
export function readForeignAction(input: unknown): Action | undefined {
  const action = input as Partial<Action> | null;
  try {
    if (action?.type === 'disconnect') return readAction('disconnect', action.target);
    return action?.type === 'close-room' ? readAction('close-room', action) : undefined;
  } catch {
    return undefined;
  }
}

/** What an action is about, for the log. */
export function targetOf(action: Action): object {
  if (action.type === 'disconnect') return action.target;
  return { room: action.room, namespace: action.namespace };
}

/** The outcome as the API reports it. */
export function replyOf({ type }: Action, { count, ...rest }: Outcome): object {
  return { [type === 'disconnect' ? 'disconnected' : 'removed']: count, ...rest };
}

function readTarget(fields: Record<string, unknown>): Target {
  const given = (['user', 'address', 'id'] as const).filter((name) => fields[name] !== undefined);
  const [name] = given;
  const value = name && fields[name];
  if (given.length !== 1 || !isText(value)) {
    throw new GjallarError('BAD_INPUT', 'Name one client: send { "user": "…" }, { "address": "…" } or { "id": "…" }.');
  }
  if (name === 'address' && !isIP(value)) {
    throw new GjallarError('BAD_INPUT', 'Invalid address. Send one IPv4 or IPv6 address, as the log shows it.');
  }
  return { [name!]: value } as Target;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= MAX_LENGTH;
}

/** How an application takes part in the operator's actions on one worker. */
export interface OperatorSeam {
  /** The user of a socket, which may be disconnected; undefined for a socket without one. */
  userOf(socket: Pick<Socket, 'data'>): string | undefined;
  /** The form in which the application writes the names of users and rooms; by default, that of the operator. */
  nameOf?(given: string): string;
  /** Called before the operator ends the connection of a socket, so that the application can say why. */
  beforeDisconnect?(socket: Socket): void;
  /** Ends the matching clients that do not use Socket.IO, and returns their number. */
  disconnectOthers?(target: Target): number;
  /** Closes a room of the namespace `/` in the application's own way, and returns the number of its members here. */
  closeRoom?(room: string): number;
}

/**
 * The seam of an application that `gjallar run` knows nothing about: it names the user of a socket in `socket.data.user`,
 * as a text or number, or as an object with an `id`.
 */
export const defaultSeam: OperatorSeam = {
  userOf: ({ data }) => {
    const { user } = (data ?? {}) as { user?: unknown };
    const id = typeof user === 'object' && user !== null ? (user as { id?: unknown }).id : user;
    return typeof id === 'string' || typeof id === 'number' ? String(id) : undefined;
  },
};
