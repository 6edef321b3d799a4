import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { BackplaneEvents } from '../../../src/backplanes/backplane.js';
import { ownWindow } from '../../../src/backplanes/frames/links.js';
import { natsBackplane } from '../../../src/backplanes/nats/pub-sub.js';
import { redisFramesBackplane } from '../../../src/backplanes/redis/frames.js';
import { Machine, startMember } from '../../rooms/support/node.js';
import { startWorkerProcess } from '../../rooms/support/worker-process.js';
import { NatsProcess } from '../../support/nats.js';
import { RedisProcess, until } from '../../support/redis.js';

const script = new URL('../support/frames-worker.mjs', import.meta.url);

describe.each([
  ['redis-frames', () => RedisProcess.start(), redisFramesBackplane],
  ['nats', () => NatsProcess.start(), natsBackplane],
])('on %s', (_bus, start, open) => {
  let broker: { url: string; remove(): Promise<unknown> };
  const machines: Machine[] = [];
  beforeAll(async () => {
    broker = await start();
    machines.push(await Machine.start(), await Machine.start());
  });
  afterAll(async () => {
    for (const machine of machines) await machine.remove();
    await broker.remove();
  });

  test('a worker tells that one which was paused at its start has missed its first broadcasts, and a newer one has not', async () => {
    const [machine] = machines as [Machine, Machine];
    const paused = await startWorkerProcess(machine, script, broker.url, 'machine0');
    paused.kill('SIGSTOP');
    const gaps: string[][] = [];
    const onGap = (...gap: string[]) => void gaps.push(gap);
    const events: BackplaneEvents = { onDown: () => {}, onUp: () => {}, onGap };
    const surroundings = { machine: 'machine1', window: ownWindow(), url: broker.url, prefix: 'socket.io', events };
    const member = await startMember(await machines[1]!.openBackplane((links) => open({ ...surroundings, links })));
    member.io.emit('said', 'nobody else hears it');
    const newer = await startWorkerProcess(machine, script, broker.url, 'machine0');
    await until(async () => (await member.io.of('/').adapter.serverCount()) === 2);
    paused.kill('SIGCONT');
    await until(() => gaps.length > 0);
    expect(gaps).toEqual([['1.machine0', expect.stringMatching('heard of late')]]);
    for (const child of [paused, newer]) child.kill('SIGKILL');
    await member.close();
  });
});
