import type { OptionKind, Row } from '../../../base/options.js';

/** One option: its environment variable, its purpose, its default, and the values it accepts. */
export interface OptionSpec<T> extends Row<T> {
  readonly name: string;
  readonly description: string;
  /** The default as the help shows it. */
  readonly default: string;
  /** The accepted values in words: completes the sentence "PORT must be …". */
  readonly accepts: string;
  /** Whether the value must not be shown because it is, or may contain, a secret. */
  readonly isSecret?: boolean;
  /** Whether it applies to every application under `gjallar run`. The other ones are the chat service's. */
  readonly isOfRun?: boolean;
}

/** A row as it is written: the words are those of the kind and of the default, unless they need others. */
interface Given<T extends {}> {
  readonly name: string;
  readonly description: string;
  readonly kind: OptionKind<T>;
  readonly fallback?: T;
  readonly default?: string;
  readonly accepts?: string;
  readonly isSecret?: true;
  readonly isOfRun?: true;
}

/** A row of a table. Without a `fallback`, the option may be unset. */
export function option<T extends {}, const Spec extends Given<T>>(
  spec: Given<T> & Spec,
): OptionSpec<Spec extends { fallback: unknown } ? T : T | undefined> & Pick<Spec, keyof Spec & 'isOfRun'> {
  const { kind, fallback } = spec;
  const words = { accepts: kind.accepts, default: fallback === undefined ? 'none' : String(fallback) };
  return { ...words, fallback, ...spec } as never;
}
