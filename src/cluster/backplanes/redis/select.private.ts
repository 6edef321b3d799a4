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

interface Command {
  readonly name: string;
  readonly args: readonly string[];
}
