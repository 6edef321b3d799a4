import type { Config } from '../config/options.js';

/** A sub-command of `gjallar`. */
export interface Command {
  /** What follows the name on the command line. */
  readonly usage: string;
  readonly description: string;
  /** @returns the exit code */
  run(
    args: readonly string[],
    config: Config,
    environment: Readonly<Record<string, string | undefined>>,
  ): Promise<number> | number;
}
