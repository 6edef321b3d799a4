/**
 * The commands: `gjallar`, `run`, `compare`, `doctor`, `backup`, `restore`.
 *
 * It promises: a process loads only what its command needs. A wrong call ends with one line that says what to do, and a
 * documented exit code. Begin with commands.ts.
 */
export { commands } from './commands.js';
