import type { Namespace, Server, Socket } from 'socket.io';

// Servers with any events, as applications type them. `Data` is the type of `socket.data`.
// biome-ignore lint/suspicious/noExplicitAny: socket.io's own types are invariant
export type AnyServer<Data = any> = Server<any, any, any, Data>;
// biome-ignore lint/suspicious/noExplicitAny: the same
export type AnyNamespace<Data = any> = Namespace<any, any, any, Data>;
// biome-ignore lint/suspicious/noExplicitAny: the same
export type AnySocket<Data = any> = Socket<any, any, any, Data>;

/** The namespace that is meant: `/` for a server. */
export function namespaceOf(of: AnyServer | AnyNamespace): Namespace {
  return 'of' in of ? of.of('/') : of;
}
