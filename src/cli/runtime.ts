import { GjallarError } from '../base/errors.js';
import { checkRuntime, otherRuntime } from '../engine/uws/runtime.js';

/**
 * The program `gjallar` starts workers with node:cluster, and loads itself into them with `--import`.
 * @throws GjallarError BAD_CONFIG on Bun and Deno, and on an old version of Node.js
 */
export function checkProgramRuntime(): void {
  checkRuntime();
  if (!otherRuntime) return;
  throw new GjallarError(
    'BAD_CONFIG',
    `the program gjallar does not run on ${otherRuntime}, because it starts workers as only Node.js can. Run it with ` +
      'Node.js, or import gjallar/register into the application.',
  );
}
