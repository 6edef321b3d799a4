import { connect as connectSocket } from 'node:net';
import { type NatsConnection as Client, connect, credsAuthenticator } from '@nats-io/transport-node';
import type { PubSubAddress } from 'gjallar/pub-sub';
import { hostAndPort, type NatsHost, readNatsUrls } from './address.js';

/** How long a server may take to answer, in ms. */
const TIMEOUT_MS = 2000;

/**
 * Connects with one of the servers.
 * @throws Error why none can be used
 */
export async function dial({ url, credentials }: PubSubAddress): Promise<Client> {
  const login = readNatsUrls(url);
  if (!login) throw new Error('NATS_URL is malformed');
  const { hosts, isSecure, user, pass, token } = login;
  return connect({
    servers: (await greeting(hosts)).map(hostAndPort),
    name: 'gjallar',
    // The library keeps what it cannot send, and takes minutes to notice a server that hangs. See NatsConnection.
    reconnect: false,
    timeout: TIMEOUT_MS,
    noEcho: true,
    noAsyncTraces: true,
    ignoreClusterUpdates: true,
    ...(isSecure && { tls: {} }),
    ...(user && { user, pass }),
    ...(token && { token }),
    ...(credentials && { authenticator: credsAuthenticator(Buffer.from(credentials)) }),
  });
}

/**
 * The servers that begin to talk. The system accepts connections for a server that hangs, too, and the library would leave
 * one open after each attempt.
 */
async function greeting(hosts: readonly NatsHost[]): Promise<NatsHost[]> {
  const attempts = await Promise.allSettled(hosts.map(greets));
  const found = hosts.filter((_, index) => attempts[index]!.status === 'fulfilled');
  if (found.length > 0) return found;
  throw (attempts[0] as PromiseRejectedResult).reason;
}

function greets({ hostname: host, port }: NatsHost): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connectSocket({ host, port });
    const end = (error?: Error) => {
      clearTimeout(timer);
      socket.destroy();
      if (error) reject(error);
      else resolve();
    };
    const timer = setTimeout(() => end(new Error('NATS does not answer')), TIMEOUT_MS).unref();
    socket.once('data', () => end());
    socket.once('end', () => end(new Error('NATS closed the connection')));
    socket.once('error', end);
  });
}
