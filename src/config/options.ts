import { access } from './options/access.js';
import { backplane } from './options/backplane.js';
import { history } from './options/history.js';
import { limits } from './options/limits.js';
import { listening } from './options/listening.js';
import { operation } from './options/operation.js';
import type { OptionSpec } from './options/option.js';
import { state } from './options/state.js';

export type { OptionSpec } from './options/option.js';

/** All options, part by part. Environment variables are named in these tables and nowhere else. */
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
