import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** uWebSockets.js disconnects a client that has read nothing of a response for so long, in ms. */
const PATIENCE_MS = 10_000;
/** How long a connection may be idle. Longer than any load balancer keeps one to reuse it: Google's keep them for 600 s. */
export const KEEP_ALIVE_MS = 620_000;

/** Disconnects a client that stops reading a response. Call it when a part of the response waits. */
export function watchReader(socket: Socket, response: ServerResponse): void {
  const cutOff = () => socket.destroy();
  // node:net measures how long no byte was written or read.
  const wait = () => socket.setTimeout(PATIENCE_MS, cutOff);
  wait();
  response.on('drain', () => {
    socket.setTimeout(0, cutOff);
    // What is written next, in the handlers of this event, may wait again.
    process.nextTick(() => socket.writableLength > 0 && !response.writableFinished && wait());
  });
  response.on('finish', () => {
    socket.removeListener('timeout', cutOff);
    socket.setTimeout(KEEP_ALIVE_MS);
  });
}
