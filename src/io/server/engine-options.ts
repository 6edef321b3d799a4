import { isDeepStrictEqual } from 'node:util';
import type { ServerOptions as StockOptions } from 'socket.io';
import {
  callback,
  checked,
  either,
  fields,
  flag,
  MAX_TIMER_MS,
  number,
  oneOf,
  row,
  text,
  value,
} from '../../base/options.js';
import { warnOnce } from '../../base/warnings.js';
import type { Engine } from '../../engine/engine.js';
import { type EngineOptions, engineOptions, settingsFrom } from '../../engine/options.js';

/** Which library listens on the port of an http.Server. */
export type PortOwnerName = 'auto' | 'node';

/** What `connectionStateRecovery` takes beside socket.io's own fields. */
interface KilledWorkers {
  /**
   * Whether clients of a worker that is killed keep their sessions, whatever they were sent alone: true, unless it is set. Each packet
   * to one socket is then copied to the hub, which costs CPU. With false, the worker hands these packets over when a client
   * disconnects, and a client that it has sent some gets a new session if the worker is killed.
   */
  killedWorkers?: boolean;
}

/** The options of `Server`: socket.io's, and those of gjallar's engine. */
export interface ServerOptions extends StockOptions, Omit<EngineOptions, keyof StockOptions> {
  /**
   * Which library listens on the port of an http.Server. With "auto", uWebSockets.js does if the server serves nothing but
   * Socket.IO: when `listen()` is called, the application has no listener for its requests or connections. Otherwise, and
   * always with "node", node:http listens. @default GJALLAR_PORT_OWNER, or "auto"
   */
  portOwner?: PortOwnerName;
  connectionStateRecovery: StockOptions['connectionStateRecovery'] & KilledWorkers;
}

/** The options of {@link ServerOptions}: what each accepts. Socket.IO has their defaults. */
const serverOptions = {
  ...engineOptions,
  portOwner: row(oneOf(['auto', 'node'])),
  path: row(text()),
  serveClient: row(flag),
  adapter: row(callback()),
  parser: row(value('a parser with Encoder and Decoder', (given) => 'Encoder' in given && 'Decoder' in given)),
  connectTimeout: row(number(0, MAX_TIMER_MS, 'ms')),
  connectionStateRecovery: row(
    either(
      flag,
      fields(
        { maxDisconnectionDuration: number(1, undefined, 'ms'), skipMiddlewares: flag, killedWorkers: flag },
        'connectionStateRecovery',
      ),
    ),
  ),
  cleanupEmptyChildNamespaces: row(flag),
  addTrailingSlash: row(flag),
  destroyUpgrade: row(flag),
  destroyUpgradeTimeout: row(number(0, MAX_TIMER_MS, 'ms')),
  wsEngine: row(value('a WebSocket server', () => true)),
  httpRequestBodyTimeout: row(number(0, MAX_TIMER_MS, 'ms')),
  maxBufferedChunks: row(number(0, undefined)),
};

/**
 * Checks the options of a server, and warns once about those that have no effect.
 * @returns those that are set, converted
 * @throws GjallarError BAD_INPUT
 */
export function checkedOptions(options: Partial<ServerOptions>): Partial<ServerOptions> {
  const known = checked('Server', serverOptions, options);
  const ignored = ignoredIn(options);
  if (ignored.length > 0) {
    warnOnce('GJALLAR_OPTION_IGNORED', `gjallar ignores these options of socket.io: ${ignored.join(', ')}.`);
  }
  return known as Partial<ServerOptions>;
}

/** The engine's options among those of a server. */
export function engineOptionsOf(options: Partial<ServerOptions>): EngineOptions {
  const names = Object.entries(checkedOptions(options)).filter(([name]) => name in engineOptions);
  return Object.fromEntries(names);
}

/**
 * Warns once about options of a Server that have no effect, because the application has bound an engine with other
 * settings to it.
 */
export function warnOfUnused(options: Partial<ServerOptions>, { settings }: Pick<Engine, 'settings'>): void {
  const given = engineOptionsOf(options);
  const wanted = settingsFrom(given);
  const names = Object.keys(given) as (keyof EngineOptions)[];
  const unused = names.filter((name) => !isDeepStrictEqual(wanted[name], settings[name]));
  if (unused.length === 0) return;
  warnOnce(
    'GJALLAR_OPTION_IGNORED',
    `gjallar ignores these options of Server, because io.bind() takes an existing engine: ${unused.join(', ')}. ` +
      'Pass them to Engine.',
  );
}

/** Since engine.io 6.6.12; for the limits in their place see docs/compatibility.md. */
const limitsOfBodies = ['httpRequestBodyTimeout', 'maxBufferedChunks'];

function ignoredIn(options: Partial<ServerOptions>): string[] {
  const { wsEngine, transports, perMessageDeflate } = options;
  const ignored = [...(wsEngine ? ['wsEngine'] : []), ...limitsOfBodies.filter((name) => name in options)];
  if ([transports].flat().some((name) => `${name}`.includes('webtransport')))
    ignored.push('transports: ["webtransport"]');
  const names = typeof perMessageDeflate === 'object' ? Object.keys(perMessageDeflate ?? {}) : [];
  return [...ignored, ...names.filter((name) => name !== 'threshold').map((name) => `perMessageDeflate.${name}`)];
}
