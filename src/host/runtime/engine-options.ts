import { isAllowedOrigin } from '../../engine/limits/origin.js';
import type { Rate } from '../../engine/limits/rates.js';
import { type EngineOptions, engineOptions } from '../../engine/options.js';
import type { RunConfig } from '../config/options.js';

/**
 * The options of an engine: the application's own, and those of the environment for all others. What has one name in both
 * tables is one option.
 */
export function runEngineOptions(config: RunConfig, given: EngineOptions, idPrefix: string): EngineOptions {
  const { corsOrigin, workers } = config;
  const { connections } = config.rateLimit;
  const isCorsGiven = given.cors !== undefined || given.origins !== undefined;
  const own = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const shared = Object.entries(config).filter(([name]) => name in engineOptions);
  return {
    ...Object.fromEntries(shared),
    maxHttpBufferSize: config.maxPayload,
    shedsLoad: true,
    maxBuffered: Math.floor(config.maxBuffered / workers),
    rateLimit: { ...config.rateLimit, ...(connections && { connections: shareOf(connections, workers) }) },
    maxConnectionsPerIp: Math.ceil(config.maxConnectionsPerIp / workers),
    ...(corsOrigin && !isCorsGiven && corsOptionsOf(corsOrigin)),
    ...own,
    idPrefix,
  };
}

/** A worker's share of a rate that all workers have together: never less than one at once, so that it can be used at all. */
function shareOf({ amount, per }: Rate, workers: number): Rate {
  const share = Math.ceil(amount / workers);
  return { amount: share, per: (per * share * workers) / amount };
}

/** The options that let pages of these origins connect. */
export function corsOptionsOf(origins: readonly string[]): EngineOptions {
  if (origins.includes('*')) return { origins, cors: { origin: '*' } };
  const answerFor = (origin: string | undefined, answer: (error: null, isAllowed: boolean) => void) =>
    answer(null, origin !== undefined && isAllowedOrigin(origin, origins));
  return { origins, cors: { origin: answerFor } };
}
