import type { PortOwnerName } from './engine-options.js';

/** The value of `GJALLAR_PORT_OWNER`, for applications that run unmodified. */
export function portOwnerOfEnvironment(): PortOwnerName {
  return process.env.GJALLAR_PORT_OWNER === 'node' ? 'node' : 'uws';
}
