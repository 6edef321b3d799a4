import { GjallarError } from '../../base/errors.js';

/**
 * uWebSockets.js answers 431 to request heads over 4 KB, node:http only to those over 16 KB. uWebSockets.js reads the
 * limit from the environment when its binary is loaded, so this module must be evaluated before all modules that import
 * uWebSockets.js. Checked against uWebSockets.js 20.51 and 20.69.
 */
process.env.UWS_HTTP_MAX_HEADERS_SIZE ||= '16384';

/** A head waits in memory that no other limit counts. */
const LEAST_HEAD_BYTES = 1024;
const MOST_HEAD_BYTES = 1_048_576;

/** `GJALLAR_SOCKETS`: `native`, `portable`, or neither for the first that loads. */
export const chosenSockets = process.env.GJALLAR_SOCKETS ?? '';

/**
 * uWebSockets.js reads `32k` as 32 bytes, and so would answer 431 to every request.
 * @throws GjallarError BAD_CONFIG
 */
export function checkHeadBytes(): void {
  const given = process.env.UWS_HTTP_MAX_HEADERS_SIZE ?? '';
  const bytes = /^\d{1,15}$/.test(given) ? Number(given) : Number.NaN;
  if (bytes >= LEAST_HEAD_BYTES && bytes <= MOST_HEAD_BYTES) return;
  throw new GjallarError(
    'BAD_CONFIG',
    `UWS_HTTP_MAX_HEADERS_SIZE must be an integer from ${LEAST_HEAD_BYTES} to ${MOST_HEAD_BYTES}, not "${given}"`,
  );
}

/**
 * The value of `GJALLAR_PORT_OWNER`, for applications that run unmodified.
 * @throws GjallarError BAD_CONFIG
 */
export function portOwnerOfEnvironment(): 'auto' | 'node' {
  const owner = process.env.GJALLAR_PORT_OWNER || 'auto';
  if (owner === 'auto' || owner === 'node') return owner;
  throw new GjallarError('BAD_CONFIG', `GJALLAR_PORT_OWNER must be auto or node, not "${owner}"`);
}
