import * as stock from 'socket.io';
import type { Engine } from '../../engine/engine.js';
import type { Session } from '../../engine/session/session.js';

// socket.io's own types, whose connections and engine have gjallar's members too. They are given to our `Server`, and not
// merged into socket.io's, because engine.io need not be a package that an application can import.

export const { Namespace, Socket } = stock;

type Next = (error?: stock.ExtendedError) => void;

/** socket.io's Socket, whose `conn` is a {@link Session}. */
export interface Socket<
  Listen extends object = stock.DefaultEventsMap,
  Emit extends object = Listen,
  Between extends object = stock.DefaultEventsMap,
  // biome-ignore lint/suspicious/noExplicitAny: socket.io's own default
  Data = any,
> extends stock.Socket<Listen, Emit, Between, Data> {
  readonly nsp: Namespace<Listen, Emit, Between, Data>;
  get conn(): stock.Socket['conn'] & Pick<Session, 'isOverLimit' | 'bufferedAmount'>;
}

/** What a server and a namespace have in common: they tell of sockets. */
interface WithSockets<OneSocket> {
  on(event: 'connection' | 'connect', listener: (socket: OneSocket) => void): this;
  once(event: 'connection' | 'connect', listener: (socket: OneSocket) => void): this;
  use(middleware: (socket: OneSocket, next: Next) => void): this;
}

/** socket.io's Namespace. */
export type Namespace<
  Listen extends object = stock.DefaultEventsMap,
  Emit extends object = Listen,
  Between extends object = stock.DefaultEventsMap,
  // biome-ignore lint/suspicious/noExplicitAny: socket.io's own default
  Data = any,
> = NamespaceMembers<Socket<Listen, Emit, Between, Data>> & stock.Namespace<Listen, Emit, Between, Data>;

interface NamespaceMembers<OneSocket> extends WithSockets<OneSocket> {
  readonly sockets: Map<string, OneSocket>;
}

/** What our Server has, and socket.io's has not. */
export interface ServerMembers<Listen extends object, Emit extends object, Between extends object, Data>
  extends WithSockets<Socket<Listen, Emit, Between, Data>> {
  readonly engine: stock.Server['engine'] & Pick<Engine, 'addresses' | 'counters'>;
  readonly sockets: Namespace<Listen, Emit, Between, Data>;
  of(
    name: Parameters<stock.Server['of']>[0],
    listener?: (socket: Socket<Listen, Emit, Between, Data>) => void,
  ): Namespace<Listen, Emit, Between, Data>;
}
