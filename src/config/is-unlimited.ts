import type { Config } from './options.js';

/** Whether clients on other machines reach the server, and nothing limits what one of them may do. */
export function isUnlimited({ host, rateLimit, maxConnectionsPerIp }: Config): boolean {
  const isLoopback = host === 'localhost' || host === '::1' || host.startsWith('127.');
  return !isLoopback && Object.keys(rateLimit).length === 0 && maxConnectionsPerIp === 0;
}
