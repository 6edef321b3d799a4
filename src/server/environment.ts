/** The value of `GJALLAR_WEBSOCKET_MAX_PAYLOAD`, in bytes; undefined if it is not a positive integer. */
export function webSocketMaxPayloadOfEnvironment(): number | undefined {
  const bytes = Number(process.env.GJALLAR_WEBSOCKET_MAX_PAYLOAD);
  return Number.isSafeInteger(bytes) && bytes > 0 ? bytes : undefined;
}
