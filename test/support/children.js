import { once } from 'node:events';

const undoing = new Set();
let isSet = false;

/** Has something undone even where the program is broken off. Returns what says that it was undone before. */
export function atExit(undo) {
  if (!isSet) {
    process.on('exit', () => {
      for (const each of [...undoing].reverse()) each();
    });
    for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(130));
    isSet = true;
  }
  undoing.add(undo);
  return () => undoing.delete(undo);
}

/**
 * Sees to it that a process ends with the test file or the program that has started it, however these end. It gets the signal;
 * SIGTERM lets it end what it has started itself.
 * @template {import('node:child_process').ChildProcess} Child
 * @param {Child} child
 * @param {NodeJS.Signals} signal
 * @returns {Child}
 */
export function own(child, signal = 'SIGKILL') {
  // environment.mjs sets them: each process of a test file, with the signal that ends it for good.
  const { testChildren } = globalThis;
  testChildren?.set(child, signal);
  const forget = testChildren ? () => testChildren.delete(child) : atExit(() => child.kill(signal));
  child.once('exit', forget);
  return child;
}

/**
 * Ends a process, if it has not ended, and resolves once it is gone.
 * @param {import('node:child_process').ChildProcess} child
 * @param {NodeJS.Signals | 0} signal
 */
export async function end(child, signal = 'SIGKILL') {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill(signal);
  await exit;
}
