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
