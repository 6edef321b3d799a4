import { once } from 'node:events';

const undoing = new Set();

process.on('exit', () => {
  for (const undo of [...undoing].reverse()) undo();
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(130));

/** Has something undone even where the scenario is broken off. Returns what says that it was undone before. */
export function atExit(undo) {
  undoing.add(undo);
  return () => undoing.delete(undo);
}

/** A child process does not outlive this one. It gets the signal; SIGTERM lets it end what it has started itself. */
export function own(child, signal = 'SIGKILL') {
  child.once(
    'exit',
    atExit(() => child.kill(signal)),
  );
  return child;
}

/** Ends a child process, if it has not ended, and resolves once it is gone. */
export async function end(child, signal = 'SIGKILL') {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill(signal);
  await exit;
}
