import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { nextEvent } from '../../support/clients.js';
import { until } from '../../support/until.js';
import { type RunningApplication, stopAll } from '../support/application.js';
import { connect, leaveAll, type Member, namesOf, start } from '../support/handover.js';

let current: News | undefined;

/** Between two numbers, in ms. */
const PAUSE_MS = 5;

afterEach(() => {
  current?.end();
  leaveAll();
});
afterAll(stopAll);

/** Sends numbers to all members, each on a connection of its own, and notes which ones the application has confirmed. */
class News {
  readonly confirmed: number[] = [];
  private number = 0;
  private isOver = false;
  private readonly done: Promise<void>;

  constructor(private readonly url: string) {
    this.done = this.run();
  }

  private async run(): Promise<void> {
    while (!this.isOver) {
      await this.send();
      await sleep(PAUSE_MS);
    }
  }

  private async send(): Promise<boolean> {
    const number = this.number++;
    const isConfirmed = await this.post(`${number}`);
    if (isConfirmed) this.confirmed.push(number);
    // Other workers may read late what a killed one has sent, and the order of two senders is not promised.
    else await until(() => this.post('fence'));
    return isConfirmed;
  }

  private post(path: string): Promise<boolean> {
    return fetch(`${this.url}/${path}`, { method: 'POST', headers: { connection: 'close' } }).then(
      ({ ok }) => ok,
      () => false,
    );
  }

  end(): void {
    this.isOver = true;
  }

  /** Resolves with the last number, which is confirmed. */
  async stop(): Promise<number> {
    this.end();
    await this.done;
    await until(() => this.send());
    return this.confirmed.at(-1)!;
  }
}

interface Begun {
  app: RunningApplication;
  members: Member[];
  news: News;
  /** When they had begun, and how many lines the application had written then. */
  since: string;
  lines: number;
}

/** Connects members that hear news. */
async function begin(app: RunningApplication, names: Record<string, object>): Promise<Begun> {
  const members = await connect(app, names);
  const news = new News(app.url);
  current = news;
  await until(() => members.every(({ said }) => said.size > 0));
  return { app, members, news, since: new Date().toISOString(), lines: app.output.length };
}

/** Waits until all members are on workers of the new release, and compares what they have heard. */
async function expectNothingLost({ app, members, news, since }: Begun): Promise<void> {
  await app.logged(({ msg, time }) => msg === 'reload finished' && String(time) >= since);
  const last = await news.stop();
  for (const { socket, said, id, disconnects } of members) {
    await until(() => said.get('news')!.at(-1)! >= last);
    const heard = said.get('news')!;
    // Of the numbers that were not confirmed, each was sent or not.
    expect(heard).toEqual([...new Set(heard)].sort((one, other) => one - other));
    const first = heard[0]!;
    expect(news.confirmed.filter((number) => number >= first && !heard.includes(number))).toEqual([]);
    expect({ id: socket.id, isConnected: socket.connected }).toEqual({ id, isConnected: true });
    expect(disconnects).toBeLessThanOrEqual(1);
  }
}

describe('while two workers are replaced', () => {
  let app: RunningApplication;
  beforeAll(async () => {
    app = await start();
  });
  afterAll(stopAll);

  // The first one needs a release that has not been reloaded.
  test('a new worker that is killed before it has recovered a session loses nothing', async () => {
    const begun = await begin(app, namesOf('slow', 12));
    const { members } = begun;
    app.process.kill('SIGHUP');
    const waiting = () => app.output.filter((line) => line.startsWith('waits: '));
    await until(() => waiting().length === members.length);
    const victim = Number(/for (\d+)$/.exec(waiting()[0]!)![1]);
    process.kill(victim, 'SIGKILL');
    await until(() => members.some(({ disconnects }) => disconnects > 0));
    await until(async () => {
      app.process.send('go on');
      return members.every(({ socket }) => socket.connected);
    });
    await expectNothingLost(begun);
  });

  test('a new worker that is killed once it has recovered sessions loses nothing', async () => {
    const begun = await begin(app, namesOf('quick', 12));
    const { members } = begun;
    app.process.kill('SIGHUP');
    await killFirst(begun);
    await until(() => members.some(({ disconnects }) => disconnects > 0));
    await until(() => members.every(({ socket }) => socket.connected));
    await expectNothingLost(begun);
  });
});

test('clients whose turn comes after a new worker was killed go to the other ones', async () => {
  const app = await start({ DRAIN_TIMEOUT: '20s' });
  const begun = await begin(app, { quick: {} });
  const quick = begun.members[0]!;
  const busy = await connectTo((await quick.state()).pid, app, 12);
  const questions = busy.map(({ socket }) => nextEvent<[() => void]>(socket, 'question'));
  for (const { socket } of busy) socket.emit('ask me');
  const answers = await Promise.all(questions);
  app.process.kill('SIGHUP');
  await killFirst(begun);
  // Their worker has noticed it then.
  await until(() => quick.disconnects > 0);
  for (const [answer] of answers) answer();
  await expectNothingLost({ ...begun, members: [quick, ...busy] });
  expect(busy.map(({ disconnects }) => disconnects)).toEqual(busy.map(() => 0));
});

/** Connects members that are all on one worker. */
async function connectTo(worker: number, app: RunningApplication, count: number): Promise<Member[]> {
  const members: Member[] = [];
  for (let number = 0; members.length < count; number++) {
    const [member] = (await connect(app, { [`busy${number}`]: {} })) as [Member];
    if ((await member.state()).pid === worker) members.push(member);
    else member.socket.disconnect();
  }
  return members;
}

/** Kills the new worker that is the first to recover a session. */
async function killFirst({ app, lines }: Begun): Promise<void> {
  const recovered = () => app.output.slice(lines).find((line) => line.startsWith('recovered by '));
  await until(() => recovered() !== undefined);
  process.kill(Number(recovered()!.split(' ')[2]), 'SIGKILL');
}
