import { inspect } from 'node:util';
import { GjallarError } from './errors.js';
import { isNear } from './nearest.js';
import { warnOnce } from './warnings.js';

/**
 * What options accept: those of the library, which applications write in JavaScript, and the environment variables, which are
 * text.
 */
export interface OptionKind<T> {
  /** In words: completes the sentence "PORT must be …". */
  readonly accepts: string;
  /** @returns the value, converted; undefined if it is not accepted */
  read(given: unknown): T | undefined;
}

/** An option with its default; without one, it may be unset. */
export interface Row<T = unknown> {
  readonly kind: OptionKind<T & {}>;
  readonly fallback: T;
}

export function row<T extends {}>(kind: OptionKind<T>): Row<T | undefined>;
export function row<T extends {}>(kind: OptionKind<T>, fallback: T): Row<T>;
export function row<T extends {}>(kind: OptionKind<T>, fallback?: T): Row<T | undefined> {
  return { kind, fallback };
}

export type Table = Readonly<Record<string, Row>>;
/** The options of a table with their defaults. */
export type Values<T extends Table> = { readonly [K in keyof T]: T[K] extends Row<infer V> ? V : never };

/** The longest time of a timer, in ms. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** A number; text of digits, such as `1e6`, is converted, as arithmetic would do. */
export function number(min: number, max = Number.POSITIVE_INFINITY, unit = ''): OptionKind<number> {
  return numeric('a number', min, max, unit, (value) => !Number.isNaN(value));
}

export function integer(min: number, max = Number.MAX_SAFE_INTEGER, unit = ''): OptionKind<number> {
  return numeric('an integer', min, max, unit, Number.isSafeInteger);
}

function numeric(
  what: string,
  min: number,
  max: number,
  unit: string,
  isOne: (value: number) => boolean,
): OptionKind<number> {
  const to = max < Number.MAX_SAFE_INTEGER ? ` to ${max}` : '';
  return {
    accepts: `${what} from ${min}${to}${unit && ` (${unit})`}`,
    read(given) {
      const value =
        typeof given === 'string' && /^\s*\d{1,15}(\.\d{1,15})?(e\d{1,2})?\s*$/.test(given) ? Number(given) : given;
      return typeof value === 'number' && isOne(value) && value >= min && value <= max ? value : undefined;
    },
  };
}

/** `true` or `false`. */
export const flag: OptionKind<boolean> = {
  accepts: 'true or false',
  read: (given) => [true, false].find((flag) => flag === given || String(flag) === given),
};

export function oneOf<const T extends string>(values: readonly T[]): OptionKind<T> {
  return {
    accepts: `one of ${values.join(', ')}`,
    read: (given) => values.find((value) => value === given),
  };
}

/** @param test what the text must be like */
export function text(
  accepts = 'a string',
  test: RegExp | ((text: string) => boolean) = () => true,
): OptionKind<string> {
  const fits = test instanceof RegExp ? (value: string) => test.test(value) : test;
  return { accepts, read: (given) => (typeof given === 'string' && fits(given) ? given : undefined) };
}

/** A list; text is split at its commas. */
export function list<T extends {}>(accepts: string, item: OptionKind<T>): OptionKind<T[]> {
  return {
    accepts,
    read(given) {
      const items = typeof given === 'string' ? given.split(',').map((part) => part.trim()) : given;
      if (!Array.isArray(items)) return undefined;
      const values = items.map((each) => item.read(each));
      return values.every((value): value is T => value !== undefined) ? values : undefined;
    },
  };
}

/** Whatever a test of the application's objects lets pass. */
export function value<T extends {}>(accepts: string, test: (given: object) => boolean): OptionKind<T> {
  const isObject = (given: unknown): given is T =>
    (typeof given === 'object' && given !== null) || typeof given === 'function';
  return { accepts, read: (given) => (isObject(given) && test(given) ? given : undefined) };
}

export function callback<T extends (...args: never[]) => unknown>(): OptionKind<T> {
  return value('a function', (given) => typeof given === 'function');
}

export function either<A extends {}, B extends {}>(one: OptionKind<A>, other: OptionKind<B>): OptionKind<A | B> {
  return { accepts: `${one.accepts}, or ${other.accepts}`, read: (given) => one.read(given) ?? other.read(given) };
}

/**
 * An object with options of its own. Others that it has are kept.
 * @param of what has the options, in the warning about others; without it, there is none
 */
export function fields<T extends object>(
  rows: Readonly<Record<string, OptionKind<unknown & {}>>>,
  of?: string,
): OptionKind<T> {
  const words = Object.entries(rows).map(([name, kind]) => `${name} (${kind.accepts})`);
  return {
    accepts: `an object with ${words.join(' and ')}`,
    read(given) {
      if (typeof given !== 'object' || given === null || Array.isArray(given)) return undefined;
      const read: Record<string, unknown> = { ...given };
      for (const name of Object.keys(read)) {
        if (of !== undefined && !Object.hasOwn(rows, name)) warnOfUnknown(of, name, Object.keys(rows));
      }
      for (const [name, kind] of Object.entries(rows)) {
        if (read[name] === undefined || read[name] === null) continue;
        read[name] = kind.read(read[name]);
        if (read[name] === undefined) return undefined;
      }
      return read as T;
    },
  };
}

/**
 * Checks options that an application has set. An unknown option is ignored, as in socket.io, with a warning.
 * @param of what has the options, as in "The option … of Server"
 * @returns those that are set, converted
 * @throws GjallarError BAD_INPUT
 */
export function checked<T extends Table>(of: string, table: T, given: object = {}): Partial<Values<T>> {
  if (typeof given !== 'object' || given === null) {
    throw new GjallarError('BAD_INPUT', `The options of ${of} must be an object, not ${shown(given)}.`);
  }
  const read: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || value === null) continue;
    if (!Object.hasOwn(table, name)) {
      warnOfUnknown(of, name, Object.keys(table));
      continue;
    }
    const { kind } = table[name]!;
    read[name] = kind.read(value);
    if (read[name] !== undefined) continue;
    throw new GjallarError(
      'BAD_INPUT',
      `The option ${name} of ${of} must be ${kind.accepts}, not ${shown(value)}. Correct or remove it.`,
    );
  }
  return read as Partial<Values<T>>;
}

/** Checks options, and adds the defaults. */
export function settingsOf<T extends Table>(of: string, table: T, given?: object): Values<T> {
  return withDefaults(table, checked(of, table, given));
}

export function withDefaults<T extends Table>(table: T, given: Partial<Values<T>>): Values<T> {
  const defaults = Object.entries(table).map(([name, { fallback }]) => [name, fallback]);
  return { ...(Object.fromEntries(defaults) as Values<T>), ...given };
}

/** A value in a message; an object may have secrets, such as the password in its URL. */
function shown(given: unknown): string {
  if (typeof given === 'string' && given.includes('://')) return 'a URL';
  if (typeof given === 'function') return 'a function';
  if (typeof given === 'object' && given !== null) return Array.isArray(given) ? 'this list' : 'this object';
  return inspect(given, { maxStringLength: 50 });
}

function warnOfUnknown(of: string, name: string, names: readonly string[]): void {
  const meant = names.find((known) => isNear(name, known));
  const advice = meant ? ` Did you mean ${meant}?` : '';
  warnOnce('GJALLAR_OPTION_UNKNOWN', `${of} has no option ${name}, and ignores it.${advice}`);
}
