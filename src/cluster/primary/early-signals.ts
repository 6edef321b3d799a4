import cluster from 'node:cluster';

const remembered = ['SIGHUP', 'SIGUSR2'] as const;
const ending = ['SIGTERM', 'SIGINT'] as const;
type EarlySignal = (typeof remembered)[number];

/** In the order of their last arrival. */
const arrived = new Set<EarlySignal>();

const remember = (signal: NodeJS.Signals): void => {
  arrived.delete(signal as EarlySignal);
  arrived.add(signal as EarlySignal);
};

/** There is nothing to stop yet. Workers leave these signals to their primary. */
const end = (): void => {
  if (cluster.isPrimary) process.exit(0);
};

/**
 * Obeys the signals that reach a server while it loads its modules. By default, SIGHUP and SIGUSR2 would end it, and the
 * first process of a container would never get SIGTERM and SIGINT.
 */
export function obeyEarlySignals(): void {
  for (const signal of remembered) process.on(signal, remember);
  for (const signal of ending) process.on(signal, end);
}

/** The signals so far that a server obeys once it has loaded. The caller handles further ones. */
export function takeSignals(): EarlySignal[] {
  for (const signal of remembered) process.off(signal, remember);
  for (const signal of ending) process.off(signal, end);
  return [...arrived];
}
