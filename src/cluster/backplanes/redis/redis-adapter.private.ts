import { createRequire } from 'node:module';
import { requireHere } from '../../../base/package.js';

/** What `@socket.io/redis-adapter` encodes its messages with; replaced through its option `parser`. */
export interface MessageParser {
  encode(value: unknown): Buffer;
  decode(bytes: Buffer): unknown;
}

/**
 * The parser that the installed version of `@socket.io/redis-adapter` uses by default, which is private. Checked against 8.3;
 * `test/io/socket-io.test.ts` fails if a version has none.
 */
export function defaultParser(): MessageParser {
  // It is a dependency of the adapter, which may have a copy of its own.
  return createRequire(requireHere.resolve('@socket.io/redis-adapter'))('notepack.io') as MessageParser;
}
