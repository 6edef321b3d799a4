/**
 * uWebSockets.js answers 431 to request heads over 4 KB, and node:http to those over 16 KB. It reads its limit from the
 * environment when its binary is loaded, so this module has to be evaluated before any that imports uWebSockets.js.
 *
 * Checked with uWebSockets.js 20.52 (uws-pack 20.0.8).
 */
process.env.UWS_HTTP_MAX_HEADERS_SIZE ??= '16384';

export {};
