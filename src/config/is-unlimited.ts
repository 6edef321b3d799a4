import type { Config } from './options.js';

/** Whether clients on other machines can reach the server while no rate or connection limit is set. */
export function isUnlimited({ host, rateLimit, maxConnectionsPerIp }: Config): boolean {
  const isLoopback = host === 'localhost' || host === '::1' || host.startsWith('127.');
  return !isLoopback && Object.keys(rateLimit).length === 0 && maxConnectionsPerIp === 0;
}
