import { afterEach, expect, test } from '@jest/globals';
import { nextEvent } from '../../support/clients.js';
import { until } from '../../support/until.js';
import { type RunningApplication, stopAll } from '../support/application.js';
import { connect, leaveAll, type Member, namesOf, start } from '../support/handover.js';

let current: News | undefined;

afterEach(async () => {
  current?.end();
  leaveAll();
  await stopAll();
});

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
    while (!this.isOver) await this.send();
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
}

/** Connects members that hear news. */
async function begin(names: Record<string, object>, env = {}): Promise<Begun> {
  const app = await start(env);
  const members = await connect(app, names);
  const news = new News(app.url);
  current = news;
  await until(() => members.every(({ said }) => said.size > 0));
  return { app, members, news };
}

/** Waits until all members are on workers of the new release, and compares what they have heard. */
async function expectNothingLost({ app, members, news }: Begun): Promise<void> {
  await app.logged(({ msg }) => msg === 'reload finished');
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

test('a new worker that is killed before it has recovered a session loses nothing', async () => {
  const begun = await begin(namesOf('slow', 12));
  const { app, members } = begun;
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
  const begun = await begin(namesOf('quick', 12));
  const { app, members } = begun;
  app.process.kill('SIGHUP');
  await killFirst(app);
  await until(() => members.some(({ disconnects }) => disconnects > 0));
  await until(() => members.every(({ socket }) => socket.connected));
  await expectNothingLost(begun);
});

test('clients whose turn comes after a new worker was killed go to the other ones', async () => {
  const { app, members, news } = await begin({ quick: {} }, { DRAIN_TIMEOUT: '20s' });
  const quick = members[0]!;
  const busy = await connectTo((await quick.state()).pid, app, 12);
  const questions = busy.map(({ socket }) => nextEvent<[() => void]>(socket, 'question'));
  for (const { socket } of busy) socket.emit('ask me');
  const answers = await Promise.all(questions);
  app.process.kill('SIGHUP');
  await killFirst(app);
  // Their worker has noticed it then.
  await until(() => quick.disconnects > 0);
  for (const [answer] of answers) answer();
  await expectNothingLost({ app, members: [quick, ...busy], news });
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
async function killFirst(app: RunningApplication): Promise<void> {
  const [, pid] = /(\d+)$/.exec(await app.said(/^recovered by/))!;
  process.kill(Number(pid), 'SIGKILL');
}
