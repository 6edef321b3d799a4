import type { RunConfig } from '../config/run-options.js';
import { isAllowedOrigin } from '../engine/limits/origin.js';
import type { EngineOptions } from '../engine/options.js';

/** The options of an engine: the application's own, and those of the environment for all others. */
export function engineOptionsOf(config: RunConfig, given: EngineOptions, idPrefix: string): EngineOptions {
  const { corsOrigin } = config;
  const isCorsGiven = given.cors !== undefined || given.origins !== undefined;
  const own = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return {
    maxHttpBufferSize: config.maxPayload,
    flushMs: config.flushMs,
    maxBackpressure: config.maxBackpressure,
    slowPolicy: config.slowPolicy,
    shedsLoad: true,
    maxBuffered: Math.floor(config.maxBuffered / config.workers),
    allowedHosts: config.allowedHosts,
    rateLimit: config.rateLimit,
    maxConnectionsPerIp: config.maxConnectionsPerIp,
    allowEIO3: config.allowEIO3,
    trustProxy: config.trustProxy,
    keepAlive: config.keepAlive,
    ...(corsOrigin && !isCorsGiven && corsOptionsOf(corsOrigin)),
    ...own,
    idPrefix,
  };
}

/** The options that let pages of these origins connect. */
export function corsOptionsOf(origins: readonly string[]): EngineOptions {
  if (origins.includes('*')) return { origins, cors: { origin: '*' } };
  const answerFor = (origin: string | undefined, answer: (error: null, isAllowed: boolean) => void) =>
    answer(null, origin !== undefined && isAllowedOrigin(origin, origins));
  return { origins, cors: { origin: answerFor } };
}
