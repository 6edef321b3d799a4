import { isDeepStrictEqual } from 'node:util';
import type { ServerOptions } from 'socket.io';
import { warnOnce } from '../../base/warnings.js';
import type { Engine } from '../../engine/engine.js';
import { type EngineOptions, type EngineSettings, settingsFrom } from '../../engine/options.js';
import type { TransportName } from '../../engine/transports/transport.js';

/** Which library listens on the port of an http.Server. */
export type PortOwnerName = 'auto' | 'node';

/** The options of socket.io's Server, and those of gjallar's engine. */
export interface GjallarOptions extends ServerOptions, Omit<EngineOptions, keyof ServerOptions> {
  /**
   * Which library listens on the port of an http.Server. With "auto", uWebSockets.js does if the server serves nothing but
   * Socket.IO: when `listen()` is called, the application has no listener for its requests. Otherwise, and always with
   * "node", node:http listens. @default GJALLAR_PORT_OWNER, or "auto"
   */
  portOwner?: PortOwnerName;
}

/** The options of `perMessageDeflate` that the engine supports. */
const deflateOptions = ['threshold'];

/** Picks the engine's options from those of socket.io's Server. Warns once about unsupported options. */
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

/**
 * Warns once about options of a Server that have no effect, because the application has bound an engine with other
 * settings to it.
 */
export function warnOfUnused(options: Partial<ServerOptions>, { settings }: Pick<Engine, 'settings'>): void {
  const wanted = settingsFrom(options as EngineOptions);
  const names = Object.keys(options).filter((name) => name in settings) as (keyof EngineSettings)[];
  const unused = names.filter((name) => !isDeepStrictEqual(wanted[name], settings[name]));
  if (unused.length === 0) return;
  warnOnce(
    'GJALLAR_OPTION_IGNORED',
    `gjallar ignores these options of Server, because io.bind() takes an existing engine: ${unused.join(', ')}. ` +
      'Pass them to Engine.',
  );
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
