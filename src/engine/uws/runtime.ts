import { GjallarError } from '../../base/errors.js';

const { bun, deno, node } = process.versions as { bun?: string; deno?: string; node: string };

/** Earlier versions lack what gjallar calls, such as `String.prototype.isWellFormed()`. */
const MIN_NODE = 20;

/** Bun or Deno with its version, if that is what imitates Node.js here. Both say so in `process.versions`. */
export const otherRuntime = (bun && `Bun ${bun}`) || (deno && `Deno ${deno}`);

/**
 * Tried with portable sockets: Deno 2.9.6 runs them. On Bun 1.4.5, polling works, a WebSocket is never opened, and the
 * process ends when a server is closed, because its node:net lacks what portable sockets call.
 * @throws GjallarError BAD_CONFIG on Bun, and on an old version of Node.js
 */
export function checkRuntime(): void {
  if (Number.parseInt(node, 10) < MIN_NODE) {
    throw new GjallarError('BAD_CONFIG', `gjallar does not run on Node.js ${node}. Use Node.js 20, 22, 24 or 26.`);
  }
  if (!bun) return;
  throw new GjallarError(
    'BAD_CONFIG',
    `gjallar does not run on ${otherRuntime}, because WebSockets would not open. Run the application with Node.js. ` +
      'Socket.IO itself runs on Bun.',
  );
}
