import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { GjallarError } from '../base/errors.js';
import { requireHere } from '../base/package.js';

/** The flags of Node.js that are passed on to the process of an application, for `parseArgs()`. */
export const nodeFlags = {
  import: { type: 'string', multiple: true },
  require: { type: 'string', short: 'r', multiple: true },
  loader: { type: 'string', multiple: true },
  'env-file': { type: 'string', multiple: true },
  conditions: { type: 'string', short: 'C', multiple: true },
} as const;

/** The flags of Node.js among the parsed arguments, as they are passed on. */
export function nodeFlagsIn(values: { readonly [Name in keyof typeof nodeFlags]?: string[] }): string[] {
  const names = Object.keys(nodeFlags) as (keyof typeof nodeFlags)[];
  return names.flatMap((name) => (values[name] ?? []).flatMap((value) => [`--${name}`, value]));
}

const SEMI_SPACE = '--max-semi-space-size';

/**
 * The flag that sets V8's semi-space to 2 MiB instead of 16, unless the user has chosen. The objects of a connection live
 * long, so a large young generation mostly wastes memory, and saves no copying.
 */
export function youngGeneration(environment: { readonly NODE_OPTIONS?: string | undefined }): string[] {
  // Flags on the command line override NODE_OPTIONS.
  return environment.NODE_OPTIONS?.includes(SEMI_SPACE) ? [] : [`${SEMI_SPACE}=2`];
}

/** Everything behind `--` belongs to the application. */
export function splitArguments(args: readonly string[]): { own: string[]; rest: string[] } {
  const at = args.indexOf('--');
  return at === -1 ? { own: [...args], rest: [] } : { own: args.slice(0, at), rest: args.slice(at + 1) };
}

/** Whether `gjallar` itself is asked, rather than the application. */
export function asksForHelp(args: readonly string[]): boolean {
  const { own } = splitArguments(args);
  return own.includes('--help') || own.includes('-h');
}

/**
 * Finds the file as `node FILE` does, which accepts folders, and names without an extension.
 * @throws GjallarError BAD_CONFIG if there is none
 */
export function fileOf(given: string): string {
  const path = resolve(given);
  try {
    return requireHere.resolve(path);
  } catch {
    if (existsSync(path)) return path;
    throw new GjallarError('BAD_CONFIG', `cannot find ${given}; give the file that starts the application`);
  }
}
