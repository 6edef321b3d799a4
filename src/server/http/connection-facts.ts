import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The two ends of a connection that uWebSockets.js holds. */
export interface Ends {
  readonly server: Server;
  /** The client's address, in the notation of node:net. */
  readonly remoteAddress: string;
  /** Where the server listens. */
  readonly local: AddressInfo;
}

/** What applications read of a `net.Socket` beside its stream. */
export interface SocketFacts {
  readonly ends: Ends;
}

type Constructor<T> = abstract new (...args: never[]) => T;

/**
 * Gives a class the properties of a `net.Socket` that are the same for all that uWebSockets.js holds. uWebSockets.js does
 * not tell the client's port. They are getters of the prototype, since there is a socket for each request.
 */
export function describeConnection(Class: Constructor<SocketFacts>): void {
  const facts: Record<string, (this: SocketFacts) => unknown> = {
    server() {
      return this.ends.server;
    },
    remoteAddress() {
      return this.ends.remoteAddress;
    },
    remoteFamily() {
      return this.ends.remoteAddress.includes(':') ? 'IPv6' : 'IPv4';
    },
    remotePort: () => undefined,
    localAddress() {
      return this.ends.local.address;
    },
    localPort() {
      return this.ends.local.port;
    },
    localFamily() {
      return this.ends.local.family;
    },
    encrypted: () => undefined,
    connecting: () => false,
    pending: () => false,
  };
  for (const [name, get] of Object.entries(facts)) {
    Object.defineProperty(Class.prototype, name, { configurable: true, enumerable: true, get });
  }
  const same = function (this: unknown) {
    return this;
  };
  for (const name of ['setNoDelay', 'setKeepAlive', 'ref', 'unref']) {
    Object.defineProperty(Class.prototype, name, { configurable: true, writable: true, value: same });
  }
}
