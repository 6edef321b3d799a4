import { expect, test } from '@jest/globals';
import { type DrainGroup, drain } from '../../../src/host/runtime/lifecycle/drain.js';

interface Member {
  name: string;
  isBusy: boolean;
}

/** Clients that leave when they are dismissed. */
class Clients implements DrainGroup<Member> {
  readonly left: string[] = [];
  private readonly present: Set<Member>;

  constructor(members: readonly Member[]) {
    this.present = new Set(members);
  }

  get size(): number {
    return this.present.size;
  }

  members(): Iterable<Member> {
    return this.present;
  }

  isQuiet({ isBusy }: Member): boolean {
    return !isBusy;
  }

  dismiss(member: Member): void {
    this.present.delete(member);
    this.left.push(member.name);
    this.onLeft(member);
  }

  arrive(member: Member): void {
    this.present.add(member);
  }

  onLeft: (member: Member) => void = () => {};
}

const named = (prefix: string, count: number, isBusy: boolean): Member[] =>
  Array.from({ length: count }, (_, at) => ({ name: `${prefix}${at}`, isBusy }));

/** Passes when the drain waits. */
let now = 0;
const time = {
  now: () => now,
  pass: async (ms: number) => {
    now += ms;
  },
};

const drained = (clients: Clients, over = 10_000) => {
  const { signal } = new AbortController();
  return drain({ groups: [clients as DrainGroup<object>], over, isIdle: () => true, signal, time });
};

test('clients that are busy for long do not keep the others waiting', async () => {
  const busy = named('busy', 200, true);
  const clients = new Clients([...busy, ...named('quiet', 30, false)]);
  // Otherwise, the busy ones would leave first, in the last call.
  clients.onLeft = () => {
    if (clients.size === busy.length) for (const member of busy) member.isBusy = false;
  };
  await drained(clients);
  expect(clients.left.slice(0, 30).every((name) => name.startsWith('quiet'))).toBe(true);
  expect(clients.left).toHaveLength(230);
});

test('clients that arrive meanwhile leave too, though some are busy', async () => {
  const [busy] = named('busy', 1, true) as [Member];
  const clients = new Clients([busy, ...named('quiet', 1, false)]);
  clients.onLeft = ({ name }) => {
    if (name === 'quiet0') clients.arrive({ name: 'late', isBusy: false });
    if (name === 'late') busy.isBusy = false;
  };
  await drained(clients);
  expect(clients.left).toEqual(['quiet0', 'late', 'busy0']);
});

test('few clients are spread over the time too, and the first one leaves at once', async () => {
  const clients = new Clients(named('quiet', 20, false));
  const times: number[] = [];
  const start = now;
  clients.onLeft = () => times.push(now - start);
  await drained(clients, 2000);
  expect(times).toHaveLength(20);
  // Half of them within a third of the time would be a crowd.
  expect(times[10]!).toBeGreaterThan(2000 / 3);

  const one = new Clients(named('only', 1, false));
  await drained(one, 600_000);
  expect(one.left).toEqual(['only0']);
});

test('the last call is for all that are left', async () => {
  const clients = new Clients(named('busy', 20, true));
  await drained(clients, 100);
  expect(clients.left).toHaveLength(20);
});
