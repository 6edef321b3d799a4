import { loadConfig } from '../config/load.js';
import { rejectRemovedCommand } from '../config/removed.js';
import { version } from '../version.js';
import { asksForHelp } from './application-arguments.js';
import { commands } from './commands.js';
import { commandHelpText } from './help.js';

/**
 * Runs one of the operator's sub-commands, and sets the exit code.
 * @returns whether there is a sub-command of this name
 */
export async function runTool(name: string, args: readonly string[]): Promise<boolean> {
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!command) {
    rejectRemovedCommand(name);
    return false;
  }
  if (asksForHelp(args)) {
    console.log(await commandHelpText(version, name));
    return true;
  }
  const config = loadConfig(command.isForApplications ? {} : process.env);
  process.exitCode = await command.run(args, config, process.env);
  return true;
}
