import type { Namespace, Server, Socket } from 'socket.io';

// Servers with any events, as applications type them.
// biome-ignore lint/suspicious/noExplicitAny: socket.io's own types are invariant
export type AnyServer = Server<any, any, any, any>;
// biome-ignore lint/suspicious/noExplicitAny: the same
export type AnyNamespace = Namespace<any, any, any, any>;
// biome-ignore lint/suspicious/noExplicitAny: the same
export type AnySocket = Socket<any, any, any, any>;

/** The namespace that is meant: `/` for a server. */
export function namespaceOf(of: AnyServer | AnyNamespace): Namespace {
  return 'of' in of ? of.of('/') : of;
}
