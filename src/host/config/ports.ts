import { GjallarError } from '../../base/errors.js';
import type { Config, RunConfig } from './options.js';

/**
 * Checks that the admin port is none of the workers' ports.
 * @throws GjallarError BAD_CONFIG
 */
export function checkAdminPort(config: RunConfig): void {
  const { adminPort } = config;
  if (adminPort !== undefined) checkOutside(config, `ADMIN_PORT=${adminPort}`, adminPort);
}

/**
 * Checks that the ports of the chat service differ.
 * @throws GjallarError BAD_CONFIG
 */
export function checkServicePorts(config: Config): void {
  const { host, port, adminHost, adminPort } = config;
  checkOutside(config, `PORT=${port}`, port);
  if (!canClash(host, adminHost)) return;
  checkAdminPort(config);
  if (port > 0 && port === adminPort) {
    throw new GjallarError('BAD_CONFIG', `PORT and ADMIN_PORT are both ${port}; set another ADMIN_PORT`);
  }
}

/** Checks that a port is none of the workers' ports. */
function checkOutside({ workerPorts, workers }: RunConfig, name: string, port: number): void {
  if (workerPorts === undefined || port < workerPorts || port >= workerPorts + workers) return;
  const ports = workers === 1 ? 'the port' : `one of the ${workers} ports`;
  throw new GjallarError('BAD_CONFIG', `${name} is ${ports} from WORKER_PORTS=${workerPorts}; set another`);
}

/** Whether two servers cannot have one port on these addresses. */
export function canClash(one: string, other: string): boolean {
  const hosts = [one, other].map((host) => host.toLowerCase());
  if (hosts[0] === hosts[1] || hosts.includes('::')) return true;
  // Of IPv4 alone.
  return hosts.includes('0.0.0.0') && !hosts.some((host) => host.includes(':'));
}
