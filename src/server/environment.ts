import type { PortOwnerName } from './engine-options.js';

/** What `GJALLAR_PORT_OWNER` says, for applications that are run unmodified. */
export function portOwnerOfEnvironment(): PortOwnerName {
  return process.env.GJALLAR_PORT_OWNER === 'node' ? 'node' : 'uws';
}
