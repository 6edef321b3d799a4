import type { ChildProcess } from 'node:child_process';

declare global {
  /** Set by environment.mjs. Each process, with the signal that ends it for good. */
  var testChildren: Map<ChildProcess, NodeJS.Signals> | undefined;
}

/** Sees to it that a process ends with the test file, however its tests and hooks end. */
export function endWithFile<Child extends ChildProcess>(child: Child, signal: NodeJS.Signals = 'SIGKILL'): Child {
  globalThis.testChildren?.set(child, signal);
  child.once('exit', () => globalThis.testChildren?.delete(child));
  return child;
}
