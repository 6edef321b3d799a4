/**
 * uWebSockets.js, loaded in a way that works from CommonJS too. The npm package that contains it can only be imported,
 * which fails if a tool such as tsx or jest compiles this code to CommonJS. The official package can be required. Checked
 * against uws-pack 20.0.8.
 */
import './uws-environment.js';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { GjallarError } from '../errors.js';

type Uws = Pick<typeof import('uWebSockets.js'), 'App' | 'SSLApp' | 'us_listen_socket_close' | 'us_socket_local_port'>;

const NAME = 'uWebSockets.js';
/** Its authors publish it on GitHub, for other versions of Node.js than the npm package. */
const OFFICIAL_PACKAGE = 'uWebSockets.js@uNetworking/uWebSockets.js#v20.52.0';

function load(): Uws {
  const require = createRequire(import.meta.url);
  const binary = `uws_${process.platform}_${process.arch}_${process.versions.modules}.node`;
  const places = (require.resolve.paths(NAME) ?? []).map((folder) => join(folder, NAME, 'dist', 'bin', binary));
  const path = places.find((place) => existsSync(place));
  if (path) return require(path);
  try {
    return require(NAME);
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    // The npm package cannot be required, so this error only repeats that its binary is missing.
    const reason = code === 'ERR_PACKAGE_PATH_NOT_EXPORTED' ? '' : ` (${message.split('\n', 1)[0]})`;
    throw new GjallarError(
      'BAD_CONFIG',
      `uWebSockets.js has no binary for Node.js ${process.versions.node} on ${process.platform} ${process.arch}` +
        `${reason}. Use Node.js 20 or 22, or run: npm install ${OFFICIAL_PACKAGE}`,
    );
  }
}

export const { App, SSLApp, us_listen_socket_close, us_socket_local_port } = load();

/**
 * Whether uWebSockets.js has ended a WebSocket because of what the client sent, such as a message that is too large. It
 * reports this only in the reason that its `close` handler gets; no client can send the code 1006.
 */
export function isForbiddenFrame(code: number, reason: string): boolean {
  return code === 1006 && reason.startsWith('Received ') && !reason.includes('TCP FIN');
}
