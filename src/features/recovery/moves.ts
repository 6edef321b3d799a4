import type { SocketId } from 'socket.io-adapter';

/** The sockets whose clients go on on another worker, while their session ends here. */
export const departing = new Set<SocketId>();

/** Sessions of clients that come from another worker, by the secret with which they are recovered. */
const arriving = new Map<string, (isHere: boolean) => void>();

/**
 * A client that comes from another worker is about to be recovered.
 * @param arrived called once: when its socket is connected, with true, or when the client cannot have its session
 */
export function expectArrival(pid: string, arrived: (isHere: boolean) => void): void {
  arriving.set(pid, arrived);
}

/** It takes too long. */
export function forgetArrival(pid: string): void {
  arriving.delete(pid);
}

/** Whether a client comes from another worker. */
export const isArriving = (pid: string): boolean => arriving.has(pid);

/** A recovery has ended. */
export function noteArrival(pid: string, isHere: boolean): void {
  const arrived = arriving.get(pid);
  if (!arrived) return;
  arriving.delete(pid);
  arrived(isHere);
}
