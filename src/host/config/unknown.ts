import { isNear } from '../../base/nearest.js';
import { allOptions, runOptions } from './options.js';

/** Variables of systems and programs that are close to ours by accident. */
const FOREIGN = new Set(['HOME', 'HOSTS', 'HOSTNAME', 'POST', 'SHOST']);

/** A variable that the server does not know, and the option that was probably meant. */
export interface UnknownVariable {
  name: string;
  meant: string;
}

/** Finds variables that have nearly the name of an option, so that a misspelt one is not silently ignored. */
export function unknownVariables(environment: Readonly<Record<string, string | undefined>>): UnknownVariable[] {
  const specs = [allOptions, runOptions].flatMap((table) => Object.values(table));
  const names = specs.flatMap(({ name, isSecret }) => (isSecret ? [name, `${name}_FILE`] : [name]));
  const known = new Set(names);
  return Object.keys(environment)
    .filter((name) => !known.has(name) && !FOREIGN.has(name) && /^\w+$/.test(name))
    .map((name) => ({ name, meant: names.find((option) => isNear(name, option)) }))
    .filter((found): found is UnknownVariable => found.meant !== undefined);
}

/**
 * The first sentence of an error of `parseArgs()`. The others tell how to pass such an option as a value. If an unknown option has
 * nearly one of the names, the result says so.
 */
export function withMeantOption(message: string, names: readonly string[]): string {
  const reason = message.split('. ')[0]!;
  const [, unknown] = /^Unknown option '--?([\w-]+)/.exec(reason) ?? [];
  const meant = unknown && names.find((name) => isNear(unknown, name));
  return meant ? `${reason}, did you mean --${meant}?` : reason;
}
