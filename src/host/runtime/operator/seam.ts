import type { Socket } from 'socket.io';
import type { Target } from './actions.js';

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
