import type { Server } from 'socket.io';
import { stateStores } from '../rooms/stores.js';

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2'] as const;

const ignore = (): void => {};

/** How long the end waits until state rooms are stored, in ms. */
const MAX_STORE_MS = 2000;

/** Ctrl-C in a terminal reaches every process, but only the primary reacts to it. */
export function holdSignals(): void {
  for (const signal of signals) process.on(signal, ignore);
}

/**
 * Ends the application once its clients are gone. An application that handles SIGTERM ends itself; the primary kills it
 * if that takes too long.
 */
export async function endApplication(servers: readonly Server[]): Promise<void> {
  process.off('SIGTERM', ignore);
  if (process.listenerCount('SIGTERM') > 0) return void process.emit('SIGTERM', 'SIGTERM');
  await stateStores.flushed(MAX_STORE_MS);
  await Promise.allSettled(servers.map((io) => io.close()));
  process.exit(0);
}
