import { allOptions, type OptionSpec, optionGroups, runOptions } from '../host/config/options.js';
import { commandHelpText, commands } from './commands.js';

/** The text of `gjallar --help`. */
export function helpText(version: string): string {
  return `gjallar ${version}: a clustered Socket.IO server

Usage: gjallar [--help] [--version]      the chat service
       gjallar run FILE [--workers N]    any Socket.IO application
${toolRows()}

gjallar COMMAND --help prints the options of a command, such as run or compare.

Set these environment variables to configure the server. All of them are optional. A variable that
holds a secret may be replaced by one with the suffix _FILE, which names a file with the value.

${groupsOf(allOptions)}
`;
}

/** The text of `gjallar run --help`. */
export function runHelpText(version: string): string {
  return `gjallar ${version}: runs a Socket.IO application on several workers that share its ports

Usage: gjallar run FILE [options] [-- arguments of the application]

  --workers N, -w N     number of worker processes, like WORKERS
  --admin-port PORT     port for health, metrics and actions of operators, like ADMIN_PORT
  --watch               reloads when a source file changes; one worker, unless you say how many
  --import MODULE       passed on to Node.js, such as --import tsx; --require, --loader, --env-file
                        and --conditions are passed on too
  --help, -h            this text

These environment variables configure it. All of them are optional. Options that the application
gives to its Socket.IO server come first.

${groupsOf(runOptions)}
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

const WIDTH = 100;

/** The words of a text in lines of at most 100 columns. */
function wrapped(text: string, indent: string): string {
  const lines: string[] = [];
  let line = indent;
  for (const word of text.split(' ')) {
    if (line.length > indent.length && line.length + word.length > WIDTH) {
      lines.push(line.trimEnd());
      line = indent;
    }
    line += `${word} `;
  }
  return [...lines, line.trimEnd()].join('\n');
}

function toolRows(): string {
  return Object.entries(commands)
    .map(
      ([name, { usage, description }]) =>
        `       gjallar ${`${name} ${usage}`.trim()}\n${wrapped(description, '           ')}`,
    )
    .join('\n');
}

/** These options in the groups of their table. */
function groupsOf(specs: typeof allOptions): string {
  return Object.entries(optionGroups)
    .map(([title, group]) => ({ title, rows: Object.keys(group).filter((key) => key in specs) }))
    .filter(({ rows }) => rows.length > 0)
    .map(({ title, rows }) => `${title}\n\n${rows.map((key) => rowOf(specs[key]!)).join('\n')}`)
    .join('\n\n');
}

function rowOf({ name, description, accepts, default: value }: OptionSpec<unknown>): string {
  return [
    `  ${name}`,
    wrapped(description, '      '),
    wrapped(`Accepts ${accepts}. Default: ${value}.`, '      '),
  ].join('\n');
}
