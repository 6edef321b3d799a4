import { afterAll, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { connect, connected, disconnectAll } from '../../../support/clients.js';
import { RedisProcess } from '../../../support/redis.js';
import { readiness } from '../../../support/reports.js';
import { type RunningServer, startServer } from '../../../support/server.js';
import { until } from '../../../support/until.js';

/** A Redis with a user of its own for the server. */
class Scene {
  private constructor(
    readonly redis: RedisProcess,
    readonly admin: Redis,
    readonly server: RunningServer,
  ) {}

  static async start(): Promise<Scene> {
    const redis = await RedisProcess.start();
    const admin = new Redis(redis.port, '127.0.0.1');
    await admin.call('ACL', 'SETUSER', 'chat', 'reset', 'on', '>secret', '~*', '&*', '+@all');
    const url = redis.url.replace('redis://', 'redis://chat:secret@');
    const scene = new Scene(redis, admin, await startServer({ WORKERS: '1', REDIS_URL: url }));
    await until(async () => (await scene.problems()).length === 0);
    return scene;
  }

  async problems(): Promise<string[]> {
    return (await readiness(this.server.url)).problems;
  }

  /** Waits until the problems are these, and the log and the metrics have the same words. */
  async expectProblems(expected: string[]): Promise<void> {
    const { server } = this;
    await until(async () => [...(await this.problems())].sort().join() === [...expected].sort().join());
    for (const problem of expected) {
      await server.logged(({ msg, level }) => msg === problem && level === 'error');
      await until(async () => (await (await fetch(`${server.url}/metrics`)).text()).includes(`text="${problem}"`));
    }
  }

  async end(): Promise<void> {
    await this.server.stop();
    this.admin.disconnect();
    await this.redis.remove();
  }
}

afterAll(disconnectAll);

/** The tests wait for metrics and for Redis: at the same time. */
const inScene = (name: string, run: (scene: Scene) => Promise<void>) =>
  test.concurrent(name, async () => {
    const scene = await Scene.start();
    try {
      await run(scene);
    } finally {
      await scene.end();
    }
  });

const endings = ['rooms and sessions do not span machines', 'messages cannot be stored or read'];

inScene('a password that was changed, and Redis itself down are reported one after the other', async (scene) => {
  const { redis, admin, server } = scene;
  await admin.call('ACL', 'SETUSER', 'chat', 'resetpass', '>another');
  expect(await scene.problems()).toEqual([]);
  await admin.call('CLIENT', 'KILL', 'USER', 'chat');
  const wrong = 'Redis rejects its user or password (WRONGPASS)';
  await scene.expectProblems(endings.map((ending) => `${wrong}: ${ending}`));

  await redis.stop();
  await scene.expectProblems(endings.map((ending) => `Redis is unreachable: ${ending}`));
  // An outage logs the same words again after a minute.
  const lines = server.log.filter(({ msg, level }) => level === 'error' && msg?.endsWith(endings[0]!));
  expect(lines.slice(0, 2).map(({ msg }) => msg)).toEqual(
    ['Redis is unreachable', wrong].map((text) => `${text}: ${endings[0]}`),
  );

  await redis.start();
  await until(() => admin.status === 'ready');
  await scene.expectProblems(endings.map((ending) => `${wrong}: ${ending}`));
  await admin.call('ACL', 'SETUSER', 'chat', 'reset', 'on', '>secret', '~*', '&*', '+@all');
  await scene.expectProblems([]);
});

inScene('rights that are taken away while the server runs are named, for the history too', async (scene) => {
  const { admin, server } = scene;
  await admin.call('ACL', 'SETUSER', 'chat', '-evalsha', '-publish');
  const client = connect(server.url, { auth: { name: 'ann' } });
  await connected(client);
  const publish = 'Redis rejects the command PUBLISH (NOPERM): rooms and sessions do not span machines';
  const evalsha = 'Redis rejects the command EVALSHA (NOPERM): messages cannot be stored';
  await client.emitWithAck('join', 'room');
  // The client of Redis sends a script with EVAL first.
  const post = () => client.emitWithAck('message', { room: 'room', text: 'x' }) as Promise<{ code?: string }>;
  await until(async () => (await post()).code === 'HISTORY_REFUSED');
  await until(async () => (await scene.problems()).includes(evalsha));
  await server.logged(({ msg }) => msg === publish);
  await server.logged(({ msg, code }) => msg === evalsha && code === 'REDIS_COMMAND_REJECTED');
  await admin.call('ACL', 'SETUSER', 'chat', '+evalsha', '+publish', '-xadd');
  const inScript = 'Redis denies its user a key, channel or command (NOPERM): messages cannot be stored';
  await until(async () => {
    await post();
    return (await scene.problems()).some((problem) => problem === inScript || problem.includes('XADD (NOPERM)'));
  });
  await admin.call('ACL', 'SETUSER', 'chat', '+@all');
  await scene.expectProblems([]);
  client.disconnect();
});

inScene('a user that needs a password is named, and the server continues without a restart', async (scene) => {
  const { redis, admin } = scene;
  const plain = await startServer({ WORKERS: '1', REDIS_URL: redis.url, HISTORY_TTL: '0' });
  const texts = async () => (await readiness(plain.url)).problems;
  try {
    await until(async () => (await texts()).length === 0);
    await admin.config('SET', 'requirepass', 'secret');
    await admin.auth('secret');
    await admin.call('CLIENT', 'KILL', 'USER', 'default', 'SKIPME', 'yes');
    const required = 'Redis requires a password, and none is set (NOAUTH)';
    await until(async () => (await texts()).filter((text) => text.startsWith(required)).length === 1);
    await plain.logged(({ msg }) => msg?.startsWith(required) ?? false);
    await admin.config('SET', 'requirepass', '');
    await until(async () => (await texts()).length === 0);
  } finally {
    await plain.stop();
  }
});
