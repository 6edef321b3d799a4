/**
 * uWebSockets.js answers 431 to request heads over 4 KB, node:http only to those over 16 KB. uWebSockets.js reads the
 * limit from the environment when its binary is loaded, so this module must be evaluated before all modules that import
 * uWebSockets.js. Checked against uWebSockets.js 20.52 (uws-pack 20.0.8).
 */
process.env.UWS_HTTP_MAX_HEADERS_SIZE ??= '16384';

export {};
