import { Redis } from 'ioredis';

/**
 * Lets a client fail to connect if Redis rejects the database of its URL: ioredis goes on in database 0. It reports what failed while it
 * connects through a method of its own. What that throws for SELECT fails the connection, as a wrong password does. Checked against
 * 6.0; `test/cluster/backplanes/redis/database.test.ts` fails if a version does it otherwise.
 */
export function requireDatabase(redis: Redis): Redis {
  const { silentEmit } = Redis.prototype;
  redis.silentEmit = (event: string, given?: unknown) => {
    const { command, message } = (event === 'error' && given ? given : {}) as { command?: Command; message?: string };
    // The error that is thrown comes here, too, and is told to the listeners.
    if (command?.name === 'select') throw new Error(`SELECT ${command.args[0]}: ${message}`);
    return silentEmit.call(redis, event, given);
  };
  return redis;
}

/**
 * Keeps a client quiet about a server of Sentinel that is down. ioredis watches all of them for a new master, and writes to the console
 * about those that it cannot reach. The others name the master. If none does, the client reports an error. Checked against 6.0 by the
 * same test.
 */
export function quietSentinels(redis: Redis): Redis {
  const { connector } = redis as unknown as { connector: Partial<SentinelConnector> };
  const { connectToSentinel } = connector;
  if (!connectToSentinel) return redis;
  connector.connectToSentinel = (...given) => connectToSentinel.apply(connector, given).on('error', () => {});
  return redis;
}

interface SentinelConnector {
  connectToSentinel(...given: unknown[]): Redis;
}

interface Command {
  readonly name: string;
  readonly args: readonly string[];
}
