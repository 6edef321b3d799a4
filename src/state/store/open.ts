import type { Cluster, Redis } from 'ioredis';
import { StoreConnection } from './connection.js';

const connections = new Map<string | Redis | Cluster, StoreConnection>();

/** The connection to a Redis, which all rooms with the same URL or client share. */
export function connectionTo(redis: string | Redis | Cluster): StoreConnection {
  let connection = connections.get(redis);
  if (!connection) {
    connection = new StoreConnection(redis, () => connections.delete(redis));
    connections.set(redis, connection);
  }
  return connection;
}
