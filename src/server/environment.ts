import type { PortOwnerName } from './engine-options.js';

/** The value of `GJALLAR_PORT_OWNER`, for applications that run unmodified. */
export function portOwnerOfEnvironment(): PortOwnerName {
  return process.env.GJALLAR_PORT_OWNER === 'node' ? 'node' : 'uws';
}

/** The value of `GJALLAR_WEBSOCKET_MAX_PAYLOAD`, in bytes; undefined if it is not a positive integer. */
export function webSocketMaxPayloadOfEnvironment(): number | undefined {
  const bytes = Number(process.env.GJALLAR_WEBSOCKET_MAX_PAYLOAD);
  return Number.isSafeInteger(bytes) && bytes > 0 ? bytes : undefined;
}
