import { createAdapter } from '@socket.io/redis-streams-adapter';
import { Redis } from 'ioredis';
import type { Namespace } from 'socket.io';
import type { ClusterAdapter } from 'socket.io-adapter';
import { wantsRecovery } from '../../../compat/socket-io.js';
import type { Backplane, BackplaneEvents } from '../backplane.js';
import { ConnectionHealth } from '../connection-health.js';
import { checked } from '../inbox.js';
import { localFirst } from '../local-first.js';
import { observe, publishingClient } from './classic.js';
import { BLOCK_MS, connectionOptions, countingServers, DEFAULT_PREFIX, keepWatch } from './connection.js';
import { wouldAccept } from './rejections.js';
import { readable, StreamReader } from './stream-reader.js';
import { Subscriptions } from './subscriptions.js';

/**
 * The backplane on `@socket.io/redis-streams-adapter`: broadcasts go through a Redis stream. A worker that lost its
 * connection reads the messages that it missed.
 */
export function redisStreamsBackplane(url: string, events: BackplaneEvents, prefix = DEFAULT_PREFIX): Backplane {
  const outage = new ConnectionHealth(events);
  const redis = [1, 2, 3].map(() => new Redis(url, connectionOptions)) as [Redis, Redis, Redis];
  const [publisher, subscriber, reading] = redis;
  const update = () => outage.update(answers(publisher) && answers(reading) && subscriptions.isRenewed);
  outage.wouldAccept = (command) => wouldAccept(publisher, command);
  const subscriptions = new Subscriptions(subscriber, update, outage.rejections, (_channel, bytes, _isPattern, emit) =>
    outage.inbox.handOn(() => emit(bytes)),
  );
  const reader = new StreamReader(reading, prefix, outage);
  const answers = observe(redis, outage, update);
  const endWatch = keepWatch(() => [publisher, subscriber]);
  // The adapter duplicates its client twice: first for reading the stream, then for subscribing.
  const duplicates: unknown[] = [reader, subscriptions];
  const client = { ...streamClient(publisher, outage), duplicate: () => duplicates.shift() };
  const createFor = createAdapter(client, {
    streamName: prefix,
    channelPrefix: prefix,
    ...(prefix !== DEFAULT_PREFIX && { sessionKeyPrefix: `${prefix}:session:` }),
    blockTimeInMs: BLOCK_MS,
  });
  return {
    name: 'redis-streams',
    factory: (nsp: Namespace) => {
      const adapter = countingServers(checked(createFor(nsp) as ClusterAdapter, outage.inbox), outage.rejections);
      // With recovery, a packet needs the offset that the stream assigns.
      return wantsRecovery(nsp) ? adapter : localFirst(adapter);
    },
    ready: async () => {
      await outage.whenUp();
      // The adapter subscribes in a callback of a promise.
      await Promise.all([reader.started, new Promise((resolve) => setImmediate(resolve))]);
      await subscriptions.confirmed();
    },
    traffic: outage,
    close: () => {
      endWatch();
      outage.close();
      reader.close();
      for (const connection of redis) connection.disconnect();
    },
  };
}

/** The commands that the adapter sends through its client. */
function streamClient(redis: Redis, outage: ConnectionHealth) {
  const sizeOf = (values: readonly unknown[]) => values.reduce((sum: number, value) => sum + String(value).length, 0);
  return {
    ...publishingClient(redis, outage),
    options: {},
    xadd: (values: (string | number)[]) =>
      outage.send(sizeOf(values), () => redis.call('XADD', values) as Promise<string>, [
        'XADD',
        String(values[0]),
        ...['*', 'x', 'y'],
      ]),
    xrange: (stream: string, from: string, to: string) => redis.xrange(stream, from, to).then(readable),
    set: (key: string, value: string, unit: 'PX', ms: number) =>
      outage.send(value.length, () => redis.set(key, value, unit, ms)),
    multi: () => redis.multi(),
  };
}
