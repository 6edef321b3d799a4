import type { Duplex } from 'node:stream';

/** What gets the events of a connection. */
export interface SocketOwner {
  onData(chunk: Buffer): void;
  /** The client sends no more. */
  onEnd(): void;
  /** The connection has ended. Called once. */
  onGone(): void;
}

const OWNER = Symbol('gjallar.owner');

interface OwnedSocket extends Duplex {
  [OWNER]?: SocketOwner;
}

/**
 * Passes the events of a connection to an owner, except for its end, which the app passes on. All connections share the
 * listeners, which takes the least memory.
 */
export function ownSocket(socket: Duplex, owner: SocketOwner): void {
  const owned: OwnedSocket = socket;
  const isListening = owned[OWNER] !== undefined;
  owned[OWNER] = owner;
  if (!isListening) socket.on('data', onData).on('end', onEnd).on('error', onError);
}

/** Whether a connection has an owner. It is no longer node:http's. */
export const isOwned = (socket: Duplex): boolean => (socket as OwnedSocket)[OWNER] !== undefined;

/** The connection has ended. */
export function gone(socket: Duplex): void {
  (socket as OwnedSocket)[OWNER]?.onGone();
}

function onData(this: OwnedSocket, chunk: Buffer): void {
  this[OWNER]!.onData(chunk);
}

function onEnd(this: OwnedSocket): void {
  this[OWNER]!.onEnd();
}

export function onError(this: OwnedSocket): void {
  this.destroy();
}
