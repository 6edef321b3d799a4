/**
 * The tests of `npm run test:portable` that are about native sockets alone, with the reason for each. With portable
 * sockets, test/support/environment.mjs skips them; it also reports entries whose test no longer exists.
 */
export const nativeOnly = [
  {
    file: 'test/engine/traps.test.ts',
    test: 'traps of the protocol a header that could not be written back is refused',
    reason: 'node:http answers 400 to a control character in a header itself, before gjallar sees the request.',
  },
  {
    file: 'test/engine/safety/handshakes.test.ts',
    test: 'a request that follows the trailers of a chunked body is never served, and neither are the trailers',
    reason: 'node:http reads the trailers as such, and the next request is one of its own.',
  },
  {
    file: 'test/engine/safety/handshakes.test.ts',
    test: 'a request with a chunked body is answered, and its connection closed',
    reason: 'The same: nothing that follows the body is in doubt, so the connection stays open.',
  },
];
