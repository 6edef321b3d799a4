import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { type ChatClient, connect, connected, disconnectAll, expectOk } from '../support/clients.js';
import { RedisProcess, until } from '../support/redis.js';
import { type RunningServer, startServer } from '../support/server.js';
import { Member, quick, upTo } from './support/member.js';

afterEach(disconnectAll);

interface Said {
  epoch: string;
  offset: number;
  text: string;
}

/** Says one thing after the other until it is told to stop; what was acknowledged is noted. */
class Talker {
  readonly acknowledged: Said[] = [];
  private isDone = false;
  private readonly talking: Promise<void>;

  constructor(
    private readonly client: ChatClient,
    private readonly room: string,
    private readonly name: string,
  ) {
    this.talking = this.talk();
  }

  async stop(): Promise<void> {
    this.isDone = true;
    await this.talking;
  }

  private async talk(): Promise<void> {
    for (let count = 0; !this.isDone; count++) {
      const text = `${this.name}:${count}`;
      try {
        await connected(this.client);
        expectOk(await this.client.timeout(3000).emitWithAck('join', this.room));
        const reply = expectOk(await this.client.timeout(3000).emitWithAck('message', { room: this.room, text }));
        this.acknowledged.push({ epoch: reply.epoch!, offset: reply.offset!, text });
      } catch {
        // Not acknowledged: it may have arrived or not. Redis is given a moment.
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
  }
}

let redis: RedisProcess;
let server: RunningServer;

/** For the tests of a group: a server and its Redis, started with the settings. */
function onRedis(...settings: string[]): void {
  beforeAll(async () => {
    redis = await RedisProcess.start(...settings);
    server = await startServer({ WORKERS: '2', REDIS_URL: redis.url });
  });
  afterAll(async () => {
    await server.stop();
    await redis.remove();
  });
}

/** Members and talkers in a room, whose Redis goes through what `trouble` does to it. */
async function storm(room: string, trouble: (redis: RedisProcess, more: () => Promise<void>) => Promise<void>) {
  const members = [undefined, ['websocket'], ['polling'], undefined].map(
    (transports) => new Member(server.url, transports),
  );
  await Promise.all(members.map((member) => member.join(room)));
  const talkers = ['a', 'b'].map((name) => new Talker(connect(server.url, quick), room, name));
  const count = () => talkers.reduce((sum, { acknowledged }) => sum + acknowledged.length, 0);
  await trouble(redis, async () => {
    const enough = count() + 40;
    await until(() => count() >= enough);
  });
  await Promise.all(talkers.map((talker) => talker.stop()));
  const acknowledged = talkers.flatMap((talker) => talker.acknowledged);
  const { epoch } = talkers[0]!.acknowledged.at(-1)!;
  const ofNow = acknowledged.filter((said) => said.epoch === epoch);
  const last = ofNow.reduce((one, other) => (one.offset > other.offset ? one : other));
  for (const member of members) {
    await member.until(() => member.heard.some(({ text }) => text === last.text));
  }
  return { members, acknowledged, epoch };
}

describe('members on a Redis with a log that is', () => {
  onRedis('--appendonly', 'yes');

  test('killed, started again and paused hear everything that was acknowledged once and in order', async () => {
    const { members, acknowledged } = await storm('killed and paused', async (redis, more) => {
      await more();
      await redis.stop();
      await redis.start();
      await more();
      redis.signal('SIGSTOP');
      // Longer than a client waits for an answer, so that some are given up.
      await new Promise((resolve) => setTimeout(resolve, 3000));
      redis.signal('SIGCONT');
      await more();
    });
    for (const member of members) {
      const offsets = member.offsets();
      expect(offsets).toEqual(upTo(1, offsets.length));
      for (const { offset, text } of acknowledged) expect(member.heard[offset - 1]!.text).toBe(text);
      expect(member.recoveries.every(({ complete }) => complete)).toBe(true);
    }
  });
});

describe('members on a Redis without a log that is', () => {
  onRedis();

  test('killed hear so: what is gone is told, and what comes is not missed', async () => {
    const { members, acknowledged, epoch } = await storm('killed', async (redis, more) => {
      await more();
      await redis.stop();
      await redis.start();
      await more();
    });
    expect(new Set(acknowledged.map((said) => said.epoch)).size).toBe(2);
    const texts = acknowledged.filter((said) => said.epoch === epoch).map(({ text }) => text);
    for (const member of members) {
      const heard = member.heard.filter((message) => message.epoch === epoch);
      expect(heard.map(({ offset }) => offset)).toEqual(upTo(1, heard.length));
      expect(texts.filter((text) => !heard.some((message) => message.text === text))).toEqual([]);
      expect(new Set(member.heard.map(({ text }) => text)).size).toBe(member.heard.length);
      expect(member.recoveries.some(({ complete }) => !complete)).toBe(true);
    }
  });

  test('set back to an older state hear nothing twice, and miss nothing of what comes', async () => {
    const setBack = async (redis: RedisProcess) => {
      await redis.stop();
      await redis.start();
    };
    const { members, acknowledged, epoch } = await storm('set back', async (redis, more) => {
      await more();
      const admin = new Redis(redis.url);
      await admin.save();
      admin.disconnect();
      await more();
      await setBack(redis);
      await more();
      // To the same state again: the epoch in between is gone with its messages.
      await setBack(redis);
      await more();
    });
    const ofNow = acknowledged.filter((said) => said.epoch === epoch).map(({ text }) => text);
    expect(ofNow.length).toBeGreaterThan(0);
    for (const member of members) {
      const texts = member.heard.map(({ text }) => text);
      expect(texts.filter((text, index) => texts.indexOf(text) < index)).toEqual([]);
      expect(ofNow.filter((text) => !texts.includes(text))).toEqual([]);
      const heard = member.heard.filter((message) => message.epoch === epoch);
      expect(heard.map(({ offset }) => offset)).toEqual(upTo(heard[0]!.offset!, heard.at(-1)!.offset!));
      expect(member.recoveries.some(({ complete }) => !complete)).toBe(true);
    }
  });
});
