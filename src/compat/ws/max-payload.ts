/**
 * The private parts of the npm package `ws` that gjallar relies on. Checked against ws 7.5 and 8.23.
 * `test/compat/ws/max-payload.test.ts` fails if one is missing.
 */

/** The name of the symbol under which `ws` keeps its WebSocket on the socket. */
const KEY = 'websocket';

/**
 * The longest message that the application's WebSocketServer accepts on a socket, in bytes (its option `maxPayload`). 0 is
 * no limit. Undefined if another library uses the socket.
 */
export function maxPayloadOf(socket: object): number | undefined {
  const key = Object.getOwnPropertySymbols(socket).find(({ description }) => description === KEY);
  const webSocket = key && (socket as Record<symbol, { _receiver?: { _maxPayload?: unknown } } | undefined>)[key];
  const max = webSocket?._receiver?._maxPayload;
  return typeof max === 'number' && max >= 0 ? max : undefined;
}
