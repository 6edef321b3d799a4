import { access } from './options/access.js';
import { backplane } from './options/backplane.js';
import { history } from './options/history.js';
import { limits } from './options/limits.js';
import { listening } from './options/listening.js';
import { operation } from './options/operation.js';
import type { OptionSpec } from './options/option.js';
import { state } from './options/state.js';

export type { OptionSpec } from './options/option.js';

/** The parts of the table of options, with their titles in `gjallar --help`. */
export const optionGroups = {
  'Listening and clients': listening,
  'Several workers and machines': backplane,
  'Kept messages': history,
  'State rooms': state,
  'Tokens and operators': access,
  Limits: limits,
  Running: operation,
} as const satisfies Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** All options. Environment variables are named in these tables and nowhere else. */
export const options = {
  ...listening,
  ...backplane,
  ...history,
  ...state,
  ...access,
  ...limits,
  ...operation,
} as const;

/** The same options with one common type, for code that iterates over them. */
export const allOptions = options as Readonly<Record<string, OptionSpec<unknown>>>;

type Options = typeof options;

/** The configuration: parsed once, frozen, passed down. Nothing else reads the environment. */
export type Config = {
  readonly [K in keyof Options]: Options[K] extends OptionSpec<infer T> ? T : never;
};

type RunKey = { [K in keyof Options]: Options[K] extends { isOfRun: true } ? K : never }[keyof Options];

/** Applications have variables of these names for their own Redis and NATS. */
const ofApplications: readonly string[] = ['redisUrl', 'redisPrefix', 'natsUrl', 'natsCreds', 'natsPrefix'];
/** Begins the names of gjallar's own variables for them. */
export const VARIABLE_PREFIX = 'GJALLAR_';

/**
 * The options that apply to every application, with the names of their variables under `gjallar run`. The other ones are the
 * chat service's.
 */
export const runOptions: Readonly<Record<string, OptionSpec<unknown>>> = Object.fromEntries(
  Object.entries(allOptions)
    .filter(([, { isOfRun }]) => isOfRun)
    .map(([key, spec]) => [key, ofApplications.includes(key) ? { ...spec, name: VARIABLE_PREFIX + spec.name } : spec]),
);

/** The part of the configuration that applies to every application. */
export type RunConfig = Pick<Config, RunKey> & {
  /** What the names of the variables for Redis and NATS begin with under `gjallar run`. */
  readonly variablePrefix?: typeof VARIABLE_PREFIX;
};
