import { readdirSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

const folder = new URL('../scenarios/', import.meta.url);

/** The scenarios with what each does, which is the first line of its file. */
export const scenarios = Object.fromEntries(
  readdirSync(folder)
    .filter((file) => file.endsWith('.yml'))
    .map((file) => [file.slice(0, -4), /^# (.+)\n/.exec(readFileSync(new URL(file, folder), 'utf8'))[1]]),
);

export const usage = `npm run load -- [scenario…] [--quick]

${Object.entries(scenarios)
  .map(([name, about]) => `  ${name.padEnd(10)} ${about}`)
  .join('\n')}

  --quick    a few seconds each
  TARGET     in the environment, the address of the server; without it the command starts one itself
  TOKEN      in the environment, the token that all users come with; without direct`;

/** Input that the command cannot go by. Its message is one line. */
export class UsageError extends Error {}

/**
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} environment
 * @throws UsageError
 */
export function readArguments(args, environment) {
  const { values, positionals } = parse(args);
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

function parse(args) {
  const boolean = { type: 'boolean', default: false };
  try {
    return parseArgs({ args, allowPositionals: true, options: { quick: boolean, help: boolean } });
  } catch (error) {
    throw new UsageError(error.message.split(/[.\n]/, 1)[0]);
  }
}

/** A path would be taken for a namespace by clients. */
function readTarget(value) {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  const isPlain = url && !url.username && url.pathname === '/' && !url.search && !url.hash;
  if (isPlain && ['http:', 'https:'].includes(url.protocol)) return url.origin;
  throw new UsageError(`TARGET=${value} is not the address of a server, such as https://chat.example.com`);
}
