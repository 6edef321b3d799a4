import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The two ends of a connection that uWebSockets.js owns. */
export interface Ends {
  readonly server: Server;
  /** The client's address, in the notation of node:net. */
  readonly remoteAddress: string;
  /** The address on which the server listens. */
  readonly local: AddressInfo;
}

/** The properties of a `net.Socket` that applications read, besides its stream. */
export interface SocketFacts {
  readonly ends: Ends;
}

type Constructor<T> = abstract new (...args: never[]) => T;

/**
 * Adds the common properties of a `net.Socket` to a class. They are getters of the prototype, because each request has a
 * socket of its own. uWebSockets.js does not report the client's port.
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
