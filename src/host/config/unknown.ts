import { isNear } from '../../base/nearest.js';
import { allOptions, runOptions, VARIABLE_PREFIX } from './options.js';

/** What other modules, uWebSockets.js and Node.js read: docs/reference/configuration.md lists them. */
const OTHERS = [
  'GJALLAR_SOCKETS',
  'GJALLAR_PORT_OWNER',
  'UWS_HTTP_MAX_HEADERS_SIZE',
  'NODE_EXTRA_CA_CERTS',
  'NODE_OPTIONS',
];

/** What the names of variables begin with that no application has for purposes of its own. */
const OURS = /^(GJALLAR|UWS)_/;

/** Variables of systems and programs that are close to ours by accident. */
const FOREIGN = new Set(['HOME', 'HOSTS', 'HOSTNAME', 'POST', 'SHOST']);

/** A variable that the server does not know, and the option that was probably meant. */
export interface UnknownVariable {
  name: string;
  meant: string;
}

/**
 * Finds variables that have nearly the name of an option, or that name with a prefix that it does not have, so that a misspelt one is not
 * silently ignored.
 * @param isForRun whether `gjallar run` reads them: then, only names that are nearly gjallar's own are misspelt. Any other
 * variable may be the application's.
 */
export function unknownVariables(
  environment: Readonly<Record<string, string | undefined>>,
  isForRun: boolean,
): UnknownVariable[] {
  const specs = Object.values(isForRun ? runOptions : allOptions);
  const names = [...specs.flatMap(({ name, isSecret }) => (isSecret ? [name, `${name}_FILE`] : [name])), ...OTHERS];
  const known = new Set(names);
  const guesses = isForRun ? names.filter((name) => OURS.test(name)) : names;
  const meantBy = (name: string) => {
    const plain = name.startsWith(VARIABLE_PREFIX) ? name.slice(VARIABLE_PREFIX.length) : '';
    return known.has(plain) ? plain : guesses.find((option) => isNear(name, option));
  };
  return (
    Object.entries(environment)
      .filter(([name]) => !known.has(name) && !FOREIGN.has(name) && /^\w+$/.test(name))
      // Kubernetes sets GJALLAR_PORT for a service of the name gjallar.
      .filter(([name, value]) => name !== 'GJALLAR_PORT' || !value?.startsWith('tcp://'))
      .map(([name]) => ({ name, meant: meantBy(name) }))
      .filter((found): found is UnknownVariable => found.meant !== undefined)
  );
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
