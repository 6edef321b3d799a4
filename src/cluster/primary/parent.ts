import { closeSync, openSync } from 'node:fs';

/** How often the parent is looked at, in ms. */
const LOOK_MS = 500;

/**
 * Calls back once when the parent of this process has ended. `npm start` and `npx` may run a command in a shell, which does
 * not pass signals on: without its parent, the server would go on and hold its port.
 */
export function onceOrphaned(ended: () => void): void {
  const parent = process.ppid;
  // The first process of a container, or one that was detached on purpose.
  if (parent <= 1) return;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    ended();
  }, LOOK_MS);
  timer.unref();
}

const signals = ['SIGHUP', 'SIGUSR2'] as const;
type EarlySignal = (typeof signals)[number];

/** In the order of their last arrival. */
const arrived = new Set<EarlySignal>();
let hadTerminal = false;

const remember = (signal: NodeJS.Signals): void => {
  arrived.delete(signal as EarlySignal);
  arrived.add(signal as EarlySignal);
};

/**
 * Remembers the signals that reach a server while it starts: by default they would end it, and the primary obeys them only
 * once it has loaded its modules.
 */
export function rememberSignals(): void {
  for (const signal of signals) process.on(signal, remember);
  // A terminal that closes during the start could not be found later.
  hadTerminal = hasTerminal();
}

/** The signals so far. The caller handles further ones. */
export function takeSignals(): EarlySignal[] {
  for (const signal of signals) process.off(signal, remember);
  return [...arrived];
}

/** Whether the terminal that this process was started in has closed. */
export function hasLostTerminal(): boolean {
  return hadTerminal && !hasTerminal();
}

function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'));
    return true;
  } catch {
    return false;
  }
}
