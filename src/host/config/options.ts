import { access } from './options/access.js';
import { backplane } from './options/backplane.js';
import { history, state } from './options/history.js';
import { limits } from './options/limits.js';
import { listening } from './options/listening.js';
import { type OptionSpec, option } from './options/option.js';
import { duration, oneOf } from './values.js';

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/** The log, and how workers are replaced. */
export const operation = {
  logLevel: option({
    name: 'LOG_LEVEL',
    description: 'Lowest level that is logged.',
    default: 'info',
    accepts: `one of ${logLevels.join(', ')}`,
    schema: oneOf(logLevels, 'info'),
  }),
  drainTimeout: option({
    name: 'DRAIN_TIMEOUT',
    description:
      'How long a worker that stops or is replaced may take to move its clients elsewhere: a number with ms, s, m ' +
      'or h; 0 disconnects clients at once.',
    default: '10s',
    accepts: '0, or a number with ms, s, m or h up to 24h, such as 10s',
    schema: duration('10s').refine((ms) => ms <= 86_400_000),
  }),
  reloadSettle: option({
    name: 'RELOAD_SETTLE',
    description:
      'How long new workers must run during a reload before they replace the old ones. If one of them ends earlier or ' +
      'is not ready, the reload is aborted and the old workers stay. A number with ms, s, m or h; with 0, they ' +
      'only have to listen and be ready.',
    default: '5s',
    accepts: '0, or a number with ms, s, m or h up to 1h, such as 5s',
    schema: duration('5s').refine((ms) => ms <= 3_600_000),
  }),
} as const;

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

/** The options that apply to every application. The other ones are the chat service's. */
export const runOptionKeys = [
  'workers',
  'workerPorts',
  'redisUrl',
  'redisPrefix',
  'natsUrl',
  'natsCreds',
  'natsPrefix',
  'bus',
  'flushMs',
  'logLevel',
  'corsOrigin',
  'adminPort',
  'adminHost',
  'adminUser',
  'adminPassword',
  'maxPayload',
  'maxBackpressure',
  'maxBuffered',
  'drainTimeout',
  'reloadSettle',
  'rateLimit',
  'maxConnectionsPerIp',
  'allowedHosts',
  'allowEIO3',
  'trustProxy',
  'keepAlive',
] as const satisfies readonly (keyof Config)[];

/** The part of the configuration that applies to every application. */
export type RunConfig = Pick<Config, (typeof runOptionKeys)[number]>;
