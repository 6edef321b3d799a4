import type { Socket } from 'node:net';

/** Whether the kernel has not taken all that was written, because the client does not read. */
export const isBehind = (socket: Socket): boolean => socket.writableLength > 0 && socket.writableCorked === 0;
