import { AMPLE_FOR_RESERVE, connectionsWithin, maxDescriptors, memoryLimit } from '../../base/system-limits.js';
import type { Config } from './options.js';

/** Whether clients on other machines can reach the server while no rate or connection limit is set. */
export function isUnlimited({ host, rateLimit, maxConnectionsPerIp }: Config): boolean {
  const isLoopback = host === 'localhost' || host === '::1' || host.startsWith('127.');
  return !isLoopback && Object.keys(rateLimit).length === 0 && maxConnectionsPerIp === 0;
}

/** What limits clients, under the names of the variables that change it. */
export function limitsOf(config: Config): Record<string, string | number> {
  const rates = Object.entries(config.rateLimit).map(([what, rate]) => `${what}=${rate.amount}/${rate.per}ms`);
  return {
    RATE_LIMIT: rates.join(',') || 'off',
    MAX_CONNECTIONS_PER_IP: config.maxConnectionsPerIp,
    MAX_PAYLOAD: config.maxPayload,
    MAX_BACKPRESSURE: config.maxBackpressure,
    MAX_BUFFERED: config.maxBuffered,
    HISTORY_MAX_BYTES: config.historyMaxBytes,
  };
}

/** Memory that a client takes, with what waits for it. In bytes. */
const BYTES_PER_CLIENT = 32_768;
/** This many are always enough. */
const AMPLE_DESCRIPTORS = 65_536;

/** How many file descriptors a worker may have, and how many its share of the memory could serve. */
export interface DescriptorLimit {
  max: number;
  wanted: number;
  isLow: boolean;
  /** Whether it is so small that a worker keeps fewer descriptors for files and databases than it may need. */
  isTooSmall: boolean;
  /** How many connections each worker accepts at most. */
  connections: number;
}

/** @returns undefined if the system does not report the limit */
export function descriptorLimit(
  workers: number,
  max = maxDescriptors(),
  memory = memoryLimit(),
): DescriptorLimit | undefined {
  if (max === undefined) return undefined;
  const wanted = Math.min(AMPLE_DESCRIPTORS, Math.floor(memory / workers / BYTES_PER_CLIENT));
  const isTooSmall = max < AMPLE_FOR_RESERVE;
  return { max, wanted, isLow: max < wanted, isTooSmall, connections: connectionsWithin(max) };
}
