/**
 * The private parts of socket.io's Server that the drop-in relies on.
 *
 * Checked with socket.io 4.6.0, 4.7.5 and 4.8.4. `test/compat/socket-io.test.ts` fails where one is missing.
 */
import { readFileSync } from 'node:fs';
import type { Server as HttpServer } from 'node:http';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Server, ServerOptions } from 'socket.io';
import { GjallarError } from '../errors.js';

/** A server's own parts. */
export interface PrivateServer {
  /** The options of the constructor. */
  readonly opts: Partial<ServerOptions>;
  /** What `socket.io-parser` exports, or what the option `parser` gave. */
  _parser: { Encoder: new () => unknown };
  encoder: unknown;
  readonly _path: string;
  readonly _serveClient: boolean;
  eio: unknown;
  engine: unknown;
  httpServer: unknown;
  attachServe(server: HttpServer): void;
}

/** The methods of the class that the drop-in replaces. */
export interface ReplacedMethods {
  adapter(this: Server, ...value: unknown[]): unknown;
  initEngine(this: Server, server: unknown, options: Partial<ServerOptions>): void;
  attachApp(this: Server, app: unknown, options?: Partial<ServerOptions>): void;
}

/** Before it, sockets have no connection state recovery, and adapters other steps. */
const OLDEST = [4, 6] as const;
const NEXT_MAJOR = 5;

export function privateParts(server: Server): PrivateServer {
  return server as unknown as PrivateServer;
}

export function methodsOf(prototype: object): ReplacedMethods {
  return prototype as ReplacedMethods;
}

/** The names of what a copy of socket.io's Server lacks; serverSideEmitWithAck() came with 4.6. */
export function missingInServer(prototype: object): string[] {
  return ['adapter', 'initEngine', 'attachApp', 'attachServe', 'attach', 'bind', 'of', 'serverSideEmitWithAck'].filter(
    (name) => typeof (prototype as Record<string, unknown>)[name] !== 'function',
  );
}

/** The folder of the socket.io that this package finds. Before 4.8 it does not export its package.json. */
export function packageFolder(): string {
  return join(dirname(createRequire(import.meta.url).resolve('socket.io')), '..');
}

/** The version of the socket.io that this package finds. */
export function installedVersion(): string {
  return (JSON.parse(readFileSync(join(packageFolder(), 'package.json'), 'utf8')) as { version: string }).version;
}

/** @throws GjallarError BAD_CONFIG where a version of socket.io is none that works */
export function checkVersion(version: string): void {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major === OLDEST[0] && minor >= OLDEST[1]) return;
  throw new GjallarError(
    'BAD_CONFIG',
    `gjallar needs socket.io from ${OLDEST.join('.')} up to, but not including, ${NEXT_MAJOR}; ` +
      `version ${version} is installed. Run "npm install socket.io@4".`,
  );
}

/** The files that socket.io serves with `serveClient`. */
export const clientFiles: ReadonlySet<string> = new Set(
  ['socket.io.esm.min.js', 'socket.io.js', 'socket.io.min.js', 'socket.io.msgpack.min.js'].flatMap((name) => [
    name,
    `${name}.map`,
  ]),
);
