import type { Config } from './options.js';

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
