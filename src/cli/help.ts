import { allOptions } from '../config/options.js';
import { runOptionKeys } from '../config/run-options.js';
import { commandHelpText, commands } from './commands.js';

/** The text of `gjallar --help`. */
export function helpText(version: string): string {
  return `gjallar ${version}: a clustered Socket.IO server

Usage: gjallar [--help] [--version]      the chat service
       gjallar run FILE [--workers N]    any Socket.IO application
${toolRows()}

gjallar COMMAND --help prints the options of a command, such as run or compare.

Set these environment variables to configure the server. All of them are optional. A variable that holds a secret may be
replaced by one with the suffix _FILE, which names a file with the value.

${rowsOf(Object.keys(allOptions))}
`;
}

/** The text of `gjallar run --help`. */
export function runHelpText(version: string): string {
  return `gjallar ${version}: runs a Socket.IO application on several workers that share its ports

Usage: gjallar run FILE [options] [-- arguments of the application]

  --workers N, -w N     number of worker processes, like WORKERS
  --admin-port PORT     port for health, metrics and actions of operators, like ADMIN_PORT
  --import MODULE       passed on to Node.js, such as --import tsx; --require, --loader, --env-file and
                        --conditions are passed on too
  --help, -h            this text

These environment variables configure it. All of them are optional. Options that the application gives to its Socket.IO
server come first.

${rowsOf(runOptionKeys)}
`;
}

/** Every call that prints a text of help, with the text. */
export async function allHelpTexts(version: string): Promise<readonly (readonly [call: string, text: string])[]> {
  const ofCommand = async (name: string) => [`gjallar ${name} --help`, await commandHelpText(name)] as const;
  return [
    ['gjallar --help', helpText(version)],
    ['gjallar run --help', runHelpText(version)],
    ...(await Promise.all(Object.keys(commands).map(ofCommand))),
  ];
}

function toolRows(): string {
  return Object.entries(commands)
    .map(([name, { usage, description }]) => `       gjallar ${`${name} ${usage}`.trim()}\n           ${description}`)
    .join('\n');
}

function rowsOf(keys: readonly string[]): string {
  return keys
    .map((key) => allOptions[key]!)
    .map(
      (spec) => `  ${spec.name}\n      ${spec.description}\n      Accepts ${spec.accepts}. Default: ${spec.default}.`,
    )
    .join('\n');
}
