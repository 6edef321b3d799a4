import { connect } from 'node:net';
import type { Cluster, Redis } from 'ioredis';
import { clusterAddress } from './redis/urls.js';
import { reasonOf } from './redis-cause.js';

/** How long Redis has to reject a new connection, in ms. */
const WAIT_MS = 500;
/** What ioredis reports where Redis, or something in front of it, has closed a connection at once. */
const CLOSED = /ECONNRESET|EPIPE|disconnected before secure TLS|Connection is closed|refresh slots cache/;
/** Redis writes nothing before TLS, and otherwise waits for the client. */
const FULL_BEFORE_TLS = 'the connection was closed before TLS: max number of clients?';

/** Where Redis listens. */
interface Address {
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly path?: string | undefined;
  readonly tls?: unknown;
}

/**
 * Why a connection failed. A Redis at its limit of clients says so and closes the connection. A client that is sending by
 * then gets a reset, and loses the words. So this connects again, and only listens.
 * @param url names the nodes of a cluster
 */
export function reasonFor({ options }: Redis | Cluster, error: Error, url = ''): Promise<string> {
  if ('host' in options) return reasonAt(options, error);
  // All nodes of a cluster usually have the same limit.
  const address = clusterAddress(url);
  return reasonAt({ ...address.options, ...address.nodes[0] }, error);
}

async function reasonAt({ host = '127.0.0.1', port = 6379, path, tls }: Address, error: Error): Promise<string> {
  const reason = reasonOf(error);
  if (!CLOSED.test(reason)) return reason;
  const said = await greetingOf(path ? { path } : { host, port });
  if (said === '' && tls) return FULL_BEFORE_TLS;
  return said || reason;
}

/** What is said on a new connection until it is closed; undefined if it stays open, or cannot be made. */
function greetingOf(address: { path: string } | { host: string; port: number }): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect(address);
    const done = (said?: string) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(said);
    };
    const timer = setTimeout(done, WAIT_MS);
    let isConnected = false;
    socket.once('connect', () => {
      isConnected = true;
    });
    socket.once('data', (bytes) => done(bytes.toString('latin1', 0, 200).replace(/^-/, '').trim()));
    socket.once('error', () => done(isConnected ? '' : undefined));
    socket.once('end', () => done(''));
  });
}
