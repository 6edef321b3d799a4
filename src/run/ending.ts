import type { Server } from 'socket.io';

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2'] as const;

const ignore = (): void => {};

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
  await Promise.allSettled(servers.map((io) => io.close()));
  process.exit(0);
}
