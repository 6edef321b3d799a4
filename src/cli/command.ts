import type { Config } from '../host/config/options.js';

export type Environment = Readonly<Record<string, string | undefined>>;

/** A sub-command of `gjallar`. */
export interface Command {
  /** What follows the name on the command line. */
  readonly usage: string;
  readonly description: string;
  /** What `--help` prints besides: the options, one on each line, and the exit codes. */
  help?(): string | Promise<string>;
  /** Whether it runs applications of users, whose environment is not checked as the configuration of the chat service. */
  readonly isForApplications?: boolean;
  /** @returns the exit code */
  run(args: readonly string[], config: Config, environment: Environment): Promise<number> | number;
}
