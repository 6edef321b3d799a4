import { GjallarError } from '../base/errors.js';
import { version } from '../base/package.js';
import { loadConfig } from '../host/config/load.js';
import type { Config } from '../host/config/options.js';
import { isNear, rejectRemovedCommand } from '../host/config/removed.js';
import { asksForHelp } from './application-arguments.js';
import { compare } from './compare.js';
import { doctor } from './doctor/doctor.js';
import { backup, restore } from './history-files.js';

/** The sub-commands by name. Without one, `gjallar` starts the server. */
export const commands: Readonly<Record<string, Command>> = { backup, compare, doctor, restore };

/**
 * Runs one of the operator's sub-commands, and sets the exit code.
 * @returns whether there is a sub-command of this name
 * @throws GjallarError BAD_CONFIG for a command that was removed or is nearly the name of another
 */
export async function runTool(name: string, args: readonly string[]): Promise<boolean> {
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!command) {
    rejectRemovedCommand(name);
    const meant = ['run', ...Object.keys(commands)].find((command) => isNear(name, command));
    if (!meant) return false;
    throw new GjallarError('BAD_CONFIG', `there is no command ${name}; did you mean gjallar ${meant}?`);
  }
  if (asksForHelp(args)) {
    console.log(await commandHelpText(name));
    return true;
  }
  const config = loadConfig(command.isForApplications ? {} : process.env);
  process.exitCode = await command.run(args, config, process.env);
  return true;
}

/** The text of `gjallar NAME --help`, for a sub-command such as `compare`. */
export async function commandHelpText(name: string): Promise<string> {
  const { usage, description, help } = commands[name]!;
  const parts = [`gjallar ${version}`, `Usage: gjallar ${name} ${usage}`, unindented(description), await help?.()];
  return parts.filter((part) => part !== undefined).join('\n\n');
}

/** Descriptions of several lines are indented for the list of commands. */
function unindented(text: string): string {
  return text.replace(/\n +/g, '\n');
}

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
