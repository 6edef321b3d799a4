import { loadConfig } from '../config/load.js';
import { commands } from './commands.js';

/**
 * Runs one of the operator's sub-commands, and sets the exit code.
 * @returns whether there is a sub-command of this name
 */
export async function runTool(name: string, args: readonly string[]): Promise<boolean> {
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!command) return false;
  const environment = command.environment?.(args, process.env) ?? process.env;
  const config = loadConfig(command.isForApplications ? {} : environment);
  process.exitCode = await command.run(args, config, environment);
  return true;
}
