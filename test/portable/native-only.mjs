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
    file: 'test/engine/incoming/bodies.test.ts',
    test: 'what the application does not read of an upload counts too, until it does',
    reason: "The application's own node:http keeps its port, and stops reading instead of holding the bytes.",
  },
  {
    file: 'test/engine/incoming/bodies.test.ts',
    test: 'an upload that is not read is ended once the budget is used up',
    reason: "The application's own node:http keeps its port, and stops reading instead of holding the bytes.",
  },
];
