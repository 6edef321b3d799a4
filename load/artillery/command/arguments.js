import { readdirSync, readFileSync } from 'node:fs';
import { listed, parseArguments, UsageError } from '../../harness/command.js';

const folder = new URL('../scenarios/', import.meta.url);

/** The scenarios with what each does, which is the first line of its file. */
export const scenarios = Object.fromEntries(
  readdirSync(folder)
    .filter((file) => file.endsWith('.yml'))
    .map((file) => [file.slice(0, -4), /^# (.+)\n/.exec(readFileSync(new URL(file, folder), 'utf8'))[1]]),
);

export const usage = `npm run load -- [scenario…] [--quick]

Plays users of the chat with artillery. Without a name, every scenario runs.

${listed(Object.entries(scenarios))}

Options:
${listed([
  ['--quick', 'a few seconds per scenario'],
  ['--help', 'show this text'],
])}

Environment:
${listed([
  ['TARGET', 'address of the server; by default the command starts a server itself'],
  ['TOKEN', 'token of all users; leaves out the scenario direct'],
])}

Exit code: 0; 1 when a threshold was missed; 2 when the arguments are wrong; 3 when nothing could run; 4 when a threshold
was missed, but artillery or other programs may be the reason.`;

/**
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} environment
 * @throws UsageError
 */
export function readArguments(args, environment) {
  const { values, positionals } = parseArguments({ quick: { type: 'boolean', default: false } }, args);
  const unknown = positionals.filter((name) => !Object.hasOwn(scenarios, name));
  if (unknown.length > 0) {
    throw new UsageError(`unknown: ${unknown.join(', ')}; the scenarios are ${Object.keys(scenarios).join(', ')}`);
  }
  const hasToken = environment.TOKEN !== undefined;
  const names =
    positionals.length > 0 ? positionals : Object.keys(scenarios).filter((name) => !(hasToken && name === 'direct'));
  if (hasToken && names.includes('direct')) {
    throw new UsageError('direct needs users of different names, and with TOKEN all have the same');
  }
  return {
    names: [...new Set(names)],
    ...values,
    target: environment.TARGET ? readTarget(environment.TARGET) : undefined,
  };
}

/** A path would be taken for a namespace by clients. */
function readTarget(value) {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  const isPlain = url && !url.username && url.pathname === '/' && !url.search && !url.hash;
  if (isPlain && ['http:', 'https:'].includes(url.protocol)) return url.origin;
  throw new UsageError(`TARGET=${value} is not the address of a server, such as https://chat.example.com`);
}
