import type { ServerOptions } from 'socket.io';
import type { EngineOptions } from '../engine/options.js';
import type { TransportName } from '../engine/transports/transport.js';
import { warnOnce } from './warn.js';

/** Options for socket.io's Server, and gjallar's own for the engine below it. */
export type GjallarOptions = ServerOptions & Omit<EngineOptions, keyof ServerOptions>;

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
