import { createAdapter } from '@socket.io/redis-adapter';
import { Redis } from 'ioredis';
import type { AdapterFactory } from '../native-rooms.js';

/** What a bus tells of the connection it depends on. */
export interface BusEvents {
  /** The connection is lost or there again. Local delivery goes on meanwhile. */
  onState(isUp: boolean): void;
  onError(error: Error): void;
}

/** A bus that depends on another server. */
export interface RemoteBus {
  factory: AdapterFactory;
  /** Resolves when the bus is ready for the first time. */
  ready: Promise<void>;
  close(): Promise<void>;
}

/**
 * The classic Redis bus: joins workers on any number of machines, and other Socket.IO servers and emitters that use
 * `@socket.io/redis-adapter`, through pub/sub.
 */
export function redisBus(url: string, events: BusEvents): RemoteBus {
  const publisher = new Redis(url, {
    // What cannot be sent while Redis is away is given up: held back, it would fill the memory and arrive late.
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    retryStrategy: retryAfter,
  });
  const subscriber = new Redis(url, { maxRetriesPerRequest: null, retryStrategy: retryAfter });
  const clients = [publisher, subscriber];
  let isUp: boolean | undefined;
  const update = () => {
    const now = clients.every((client) => client.status === 'ready');
    if (now === isUp) return;
    isUp = now;
    events.onState(now);
  };
  for (const client of clients) {
    client.on('ready', update);
    client.on('close', update);
    client.on('error', events.onError);
  }
  const ready = Promise.all(
    clients.map((client) => new Promise<void>((resolve) => client.once('ready', () => resolve()))),
  ).then(() => {});
  const createFor = createAdapter(quiet(publisher), subscriber);
  return {
    factory: (nsp) => createFor(nsp),
    ready,
    close: async () => {
      for (const client of clients) client.disconnect();
    },
  };
}

/** How long to wait before the next attempt to connect, in ms. */
function retryAfter(attempt: number): number {
  return Math.min(50 * 2 ** Math.min(attempt, 6), 2000);
}

/** The adapter does not wait for what it publishes: a failure must not become an unhandled rejection. */
function quiet(client: Redis): Redis {
  const publish = client.publish.bind(client) as (channel: string, message: string | Buffer) => Promise<number>;
  client.publish = ((channel: string, message: string | Buffer) =>
    publish(channel, message).catch(() => 0)) as typeof client.publish;
  return client;
}
