let hasTold = false;

/**
 * Tells once that a client may need what uWebSockets.js does not support, and names the option that does.
 * @param what what has happened, as a sentence
 */
export function suggestNode(what: string): void {
  if (hasTold) return;
  hasTold = true;
  process.emitWarning(
    `${what} uWebSockets.js, which serves HTTP here, supports no HTTP/1.0, no trailers of requests, no slow pipelined ` +
      "requests and at most 100 headers. For clients that need them, pass portOwner: 'node', or set " +
      'GJALLAR_PORT_OWNER=node. See docs/move.md of gjallar.',
    { type: 'GjallarNotice', code: 'GJALLAR_PORT_OWNER' },
  );
}

/** Whether it has been told. */
export function hasSuggestedNode(): boolean {
  return hasTold;
}
