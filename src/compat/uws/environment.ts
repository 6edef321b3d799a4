/**
 * uWebSockets.js answers 431 to request heads over 4 KB, node:http only to those over 16 KB. uWebSockets.js reads the
 * limit from the environment when its binary is loaded, so this module must be evaluated before all modules that import
 * uWebSockets.js. Checked against uWebSockets.js 20.51 and 20.69.
 */
process.env.UWS_HTTP_MAX_HEADERS_SIZE ??= '16384';

/** `GJALLAR_SOCKETS`: `native`, `portable`, or neither for the first that loads. */
export const chosenSockets = process.env.GJALLAR_SOCKETS ?? '';
