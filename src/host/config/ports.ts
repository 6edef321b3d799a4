import { GjallarError } from '../../base/errors.js';
import type { Config } from './options.js';

/**
 * Checks that the ports of the chat service differ.
 * @throws GjallarError BAD_CONFIG
 */
export function checkServicePorts(config: Config): void {
  const { host, port, adminHost, adminPort } = config;
  if (!canClash(host, adminHost)) return;
  if (port > 0 && port === adminPort) {
    throw new GjallarError('BAD_CONFIG', `PORT and ADMIN_PORT are both ${port}; set another ADMIN_PORT`);
  }
}

/** Whether two servers cannot have one port on these addresses. */
export function canClash(one: string, other: string): boolean {
  const hosts = [one, other].map((host) => host.toLowerCase());
  if (hosts[0] === hosts[1] || hosts.includes('::')) return true;
  // Of IPv4 alone.
  return hosts.includes('0.0.0.0') && !hosts.some((host) => host.includes(':'));
}
