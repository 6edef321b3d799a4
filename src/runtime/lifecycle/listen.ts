import { setTimeout as sleep } from 'node:timers/promises';
import type { TemplatedApp, us_listen_socket } from '../../sockets.js';

/** How often a worker tries to listen, and how long it waits in between, in ms. */
const ATTEMPTS = 10;
const PAUSE_MS = 100;

/**
 * Listens on a port that the primary has found free. Another process may have it for a moment, such as one that looks for
 * a free port.
 * @returns undefined if the port stays taken
 */
export async function listenOn(app: TemplatedApp, host: string, port: number): Promise<us_listen_socket | undefined> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const socket = await tryToListen(app, host, port);
    if (socket) return socket;
    await sleep(PAUSE_MS);
  }
  return undefined;
}

function tryToListen(app: TemplatedApp, host: string, port: number): Promise<us_listen_socket | undefined> {
  return new Promise((resolve) => app.listen(host, port, (opened) => resolve(opened || undefined)));
}
