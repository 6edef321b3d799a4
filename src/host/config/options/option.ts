import type { Value } from '../values.js';

/** One option: its environment variable, its purpose, its default, and the values it accepts. */
export interface OptionSpec<T> {
  readonly name: string;
  readonly description: string;
  /** The default as the help shows it. */
  readonly default: string;
  /** The accepted values in words: completes the sentence "PORT must be …". */
  readonly accepts: string;
  /** Whether the value must not be shown because it is, or may contain, a secret. */
  readonly isSecret?: boolean;
  readonly schema: Value<T>;
}

/** Checks a row of a table, and keeps its type. */
export function option<T>(spec: OptionSpec<T>): OptionSpec<T> {
  return spec;
}

/** An IP address or a host name. */
export const HOST = /^[0-9A-Za-z.:-]+$/;
