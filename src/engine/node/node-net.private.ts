/**
 * The private parts of node:net that gjallar relies on to take over a port, to see the progress of a long write, and to stop
 * reading from a connection that another process goes on with. Checked against Node.js 20.20, 22.23 and 24.21. `test/engine/node/node-net.test.ts` fails if one is missing.
 */
import type { ServerResponse } from 'node:http';
import { type Server, Socket } from 'node:net';

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

/** Whether the option `reusePort` lets several processes listen on one port, each with a socket of its own. */
export const sharesPorts =
  process.platform === 'linux' && (major > 23 || (major === 23 && minor >= 1) || (major === 22 && minor >= 12));

/** The methods of a handle that a listening server calls. */
export interface ListenHandle {
  /** Closes the listening socket at once. */
  close(callback?: () => void): void;
  ref(): void;
  unref(): void;
  hasRef(): boolean;
  /** Fills in the address; returns an error number, 0 for none. */
  getsockname(address: object): number;
  readonly fd: number;
}

interface PrivateServer {
  _handle: ListenHandle | null;
  /** The number of open connections. A closed server emits `close` once it is 0. */
  _connections: number;
  _emitCloseIfDrained(): void;
  /** Whether `unref()` was called before the server listened. */
  _unref: boolean;
}

function privately(server: Server): PrivateServer {
  return server as unknown as PrivateServer;
}

/** The handle of a server that listens on a TCP port of this process; undefined for pipes and for cluster's handles. */
export function tcpHandleOf(server: Server): ListenHandle | undefined {
  const handle = privately(server)._handle;
  return handle?.constructor.name === 'TCP' ? handle : undefined;
}

/** The handle of a server that listens in any way. */
export function handleOf(server: Server): ListenHandle | null {
  return privately(server)._handle;
}

export const isUnref = (server: Server): boolean => privately(server)._unref === true;

/** Replaces the handle of a server; null if it no longer listens. */
export function setHandle(server: Server, handle: ListenHandle | null): void {
  privately(server)._handle = handle;
}

/** Counts connections that node:net does not know. A server that is closing emits `close` after the last one. */
export function addConnections(server: Server, count: 1 | -1): void {
  const inside = privately(server);
  inside._connections += count;
  if (count < 0) inside._emitCloseIfDrained();
}

/** The handle of a connected socket, as its own time-outs read it. */
interface StreamHandle {
  /** Bytes of all writes that were started. */
  readonly bytesWritten: number;
  /** Bytes of these that the kernel has not taken. */
  readonly writeQueueSize: number;
  reading: boolean;
  readStop(): number;
}

/**
 * The bytes of a socket that the kernel has not taken. `writableLength` tells no progress during one write of many
 * messages.
 */
export function unsentBytes(socket: Socket): number {
  const handle = streamHandleOf(socket);
  if (!handle) return socket.writableLength;
  // Also those that wait for the end of the write in progress.
  return socket.bytesWritten - handle.bytesWritten + handle.writeQueueSize;
}

/** The response that node:http writes to the connection, if one is not complete. */
export function responseOn(socket: Socket): ServerResponse | null | undefined {
  return (socket as unknown as { _httpMessage?: ServerResponse | null })._httpMessage;
}

function streamHandleOf(socket: Socket): StreamHandle | null | undefined {
  return (socket as unknown as { _handle?: StreamHandle | null })._handle;
}

/** The handles that another process can get. A connection with TLS has one of its own. */
const plainHandles: ReadonlySet<string> = new Set(['TCP', 'Pipe']);

/**
 * Whether another process could go on with a connection now: nothing waits in this one, in either direction. Undefined if none
 * ever can, because the connection has TLS.
 */
export function canPass(socket: Socket): boolean | undefined {
  const handle = streamHandleOf(socket);
  if (!handle) return false;
  if (!plainHandles.has(handle.constructor.name)) return undefined;
  if (socket.destroyed || socket.readableEnded || socket.writableEnded) return false;
  return socket.readableLength === 0 && socket.writableLength === 0 && handle.writeQueueSize === 0;
}

/**
 * Leaves what the client sends from now on in the kernel. `pause()` would read on until a buffer is full, and after a chunk the
 * stream has a read planned that would begin again.
 */
export function stopReading(socket: Socket): void {
  const handle = streamHandleOf(socket)!;
  socket.pause();
  socket._read = () => {};
  handle.reading = false;
  handle.readStop();
}

/** A connection on a handle that another process has passed on. It reads nothing until it is resumed. */
export function socketOn(handle: object): Socket {
  return new Socket({ handle, pauseOnCreate: true, allowHalfOpen: true } as object);
}

/** The names of the private parts of a connected socket that are missing. */
export function missingInSocket(socket: Socket): string[] {
  const handle = streamHandleOf(socket);
  const numbers = (['bytesWritten', 'writeQueueSize'] as const).filter((name) => typeof handle?.[name] !== 'number');
  return typeof handle?.readStop === 'function' ? numbers : [...numbers, 'readStop'];
}

/** The names of the private parts that are missing in this version of Node.js. */
export function missingInNet(server: Server): string[] {
  const inside = privately(server);
  const missing: string[] = [];
  if (typeof inside._connections !== 'number') missing.push('_connections');
  if (typeof inside._emitCloseIfDrained !== 'function') missing.push('_emitCloseIfDrained');
  if (!('_handle' in inside)) missing.push('_handle');
  if (!('_unref' in inside)) missing.push('_unref');
  return missing;
}
