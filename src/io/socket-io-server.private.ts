import type { Server as HttpServer } from 'node:http';
import type { Namespace, Server, ServerOptions } from 'socket.io';

/**
 * The private parts of socket.io's Server that the drop-in `Server` relies on. Checked against socket.io 4.6.0, 4.7.5
 * and 4.8.4. `test/io/socket-io-server.test.ts` fails if one is missing.
 */

/** The private fields of a server. */
export interface PrivateServer {
  /** The options of the constructor. */
  readonly opts: Partial<ServerOptions>;
  /** The exports of `socket.io-parser`, or the value of the option `parser`. */
  _parser: { Encoder: new () => unknown };
  encoder: unknown;
  readonly _path: string;
  /** The namespaces by name. */
  readonly _nsps: ReadonlyMap<string, Namespace>;
  readonly _serveClient: boolean;
  eio: unknown;
  engine: unknown;
  httpServer: unknown;
  attachServe(server: HttpServer): void;
}

/** The methods of the class that the drop-in replaces. */
export interface ReplacedMethods {
  adapter(this: Server, ...value: unknown[]): unknown;
  attach(this: Server, target: unknown, options?: object): Server;
  bind(this: Server, engine: unknown): Server;
  initEngine(this: Server, server: unknown, options: Partial<ServerOptions>): void;
  attachApp(this: Server, app: unknown, options?: Partial<ServerOptions>): void;
}

export function privateParts(server: Server): PrivateServer {
  return server as unknown as PrivateServer;
}

export function methodsOf(prototype: object): ReplacedMethods {
  return prototype as ReplacedMethods;
}

/**
 * Calls `listener` with each namespace that a client asks for in vain.
 * @param sender returns the client whose packet is being handled
 */
export function onUnknownNamespace<Sender>(
  server: Server,
  sender: () => Sender,
  listener: (name: string, from: Sender) => void,
): void {
  type Found = (namespace: unknown) => void;
  const parts = server as unknown as { _checkNamespace?(name: string, auth: unknown, found: Found): void };
  const check = parts._checkNamespace;
  if (!check) return;
  parts._checkNamespace = (name, auth, found) => {
    const from = sender();
    check.call(server, name, auth, (namespace) => {
      if (!namespace) listener(name, from);
      found(namespace);
    });
  };
}

/** The names of the methods that a copy of socket.io's Server lacks. serverSideEmitWithAck() came with 4.6. */
export function missingInServer(prototype: object): string[] {
  return ['adapter', 'initEngine', 'attachApp', 'attachServe', 'attach', 'bind', 'of', 'serverSideEmitWithAck'].filter(
    (name) => typeof (prototype as Record<string, unknown>)[name] !== 'function',
  );
}

/** The files that socket.io serves if `serveClient` is set. */
export const clientFiles: ReadonlySet<string> = new Set(
  ['socket.io.esm.min.js', 'socket.io.js', 'socket.io.min.js', 'socket.io.msgpack.min.js'].flatMap((name) => [
    name,
    `${name}.map`,
  ]),
);
