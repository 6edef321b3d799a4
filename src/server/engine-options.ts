import type { ServerOptions } from 'socket.io';
import type { EngineOptions } from '../engine/options.js';
import type { TransportName } from '../engine/transports/transport.js';
import { warnOnce } from './warn.js';

/** What has the port of a plain http.Server: uWebSockets.js, or node:http as ever. */
export type PortOwnerName = 'uws' | 'node';

/** Options for socket.io's Server, and gjallar's own for the engine below it. */
export interface GjallarOptions extends ServerOptions, Omit<EngineOptions, keyof ServerOptions> {
  /**
   * What has the port of a plain http.Server. "uws" serves HTTP and Socket.IO fastest. "node" is for what only node:http
   * can do, such as HTTP/1.0 and trailers; Socket.IO's WebSockets then cost more. @default GJALLAR_PORT_OWNER, or "uws"
   */
  portOwner?: PortOwnerName;
}

/** What of `perMessageDeflate` has a meaning here. */
const deflateOptions = ['threshold'];

/** The engine's options out of those for socket.io's Server. Warns once of what cannot be honoured. */
export function engineOptionsOf(options: Partial<ServerOptions>): EngineOptions {
  const transports = options.transports as readonly string[] | undefined;
  const ignored = ignoredIn(options, transports);
  if (ignored.length > 0) {
    warnOnce('GJALLAR_OPTION_IGNORED', `gjallar ignores these options of socket.io: ${ignored.join(', ')}.`);
  }
  return {
    ...(options as EngineOptions),
    transports: transports?.filter((name) => name !== 'webtransport') as readonly TransportName[] | undefined,
  };
}

function ignoredIn(options: Partial<ServerOptions>, transports: readonly string[] | undefined): string[] {
  const ignored: string[] = [];
  if (options.wsEngine) ignored.push('wsEngine');
  if (transports?.includes('webtransport')) ignored.push('transports: ["webtransport"]');
  const { perMessageDeflate } = options;
  if (typeof perMessageDeflate === 'object') {
    for (const name of Object.keys(perMessageDeflate)) {
      if (!deflateOptions.includes(name)) ignored.push(`perMessageDeflate.${name}`);
    }
  }
  return ignored;
}
