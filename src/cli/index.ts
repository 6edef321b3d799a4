/**
 * The commands: `gjallar`, `run`, `compare`, `doctor`, `backup`, `restore`.
 *
 * A command reads its arguments, loads what it needs, and ends with an exit code. Begin with commands.ts.
 */
export { commands } from './commands.js';
