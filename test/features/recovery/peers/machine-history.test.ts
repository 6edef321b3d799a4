import { afterEach, describe, expect, test } from '@jest/globals';
import { PacketLog } from '../../../../src/features/recovery/kept/packet-log.js';
import { type KeptPacket, PacketMemory } from '../../../../src/features/recovery/kept/stream.js';
import type { LoanQuestion, RecoveryMessage, SessionState } from '../../../../src/features/recovery/messages.js';
import { MachineHistory } from '../../../../src/features/recovery/peers/history.js';
import { Loans } from '../../../../src/features/recovery/peers/loans.js';
import { ForeignMessages } from '../../../../src/features/recovery/returns/foreign.js';

const RETENTION_MS = 600_000;
const HOUR_MS = 3_600_000;
const all: Loans[] = [];

afterEach(() => {
  for (const loans of all.splice(0)) loans.close();
});

/** A worker of another machine, which knows everything since an hour ago. */
function worker(name: string, memory = new PacketMemory(1e9)) {
  const log = new PacketLog(name, memory, () => RETENTION_MS);
  log.since = Date.now() - HOUR_MS;
  const foreign = new ForeignMessages();
  const owner = { nsp: { name: '/' }, log, sessions: { all: () => [] } as never, foreign };
  const loans = new Loans(owner, { name, caughtUp: async () => true });
  all.push(loans);
  return { name, log, loans, foreign };
}

type Worker = ReturnType<typeof worker>;

function send(log: PacketLog, sender: string, from: number, to: number, text = 'x'): void {
  for (let number = from; number <= to; number++) {
    log.add([sender, number, Date.now() - 60_000 + number], { rooms: ['room'], except: [], packets: [text] });
  }
}

/** What a worker answers that the newcomer has not found yet. */
const UNKNOWN = Promise.resolve('unknown');

/** A worker that starts, and what it asks the others. */
function newcomer(others: Worker[], answer = (to: Worker, question: LoanQuestion) => to.loans.answer(question)) {
  const log = new PacketLog('new', new PacketMemory(1e9), () => RETENTION_MS);
  log.start();
  const questions: LoanQuestion[] = [];
  const sessions: SessionState[] = [];
  const requests: RecoveryMessage[] = [];
  const host = {
    name: 'new',
    members: [1],
    send: (_to: number, message: RecoveryMessage) => void requests.push(message),
    askAll: async (_nsp: string, question: LoanQuestion) => {
      questions.push(question);
      const answers = await Promise.all(others.map((to) => answer(to, question)));
      const known = answers.filter((one) => one !== undefined && one !== 'unknown');
      return { answers: known, isComplete: !answers.includes(undefined as never) };
    },
  };
  const delivered: number[] = [];
  const deliver = (sender: string, { number, at, ...content }: KeptPacket) => {
    if (log.add([sender, number, at], content)) delivered.push(number);
  };
  const owner = { nsp: { name: '/' }, log, retentionMs: RETENTION_MS, deliver };
  return {
    log,
    questions,
    requests,
    delivered,
    history: new MachineHistory(owner, host, (states) => void sessions.push(...states)),
  };
}

const isOld = (log: PacketLog) => log.since < Date.now() - RETENTION_MS;

test('a history of many packets comes in parts, in order', async () => {
  const lender = worker('a');
  send(lender.log, 'a', 1, 3000, 'y'.repeat(1000));
  const { log, history, questions } = newcomer([lender]);
  await history.borrow();
  expect(isOld(log)).toBe(true);
  expect(questions.filter(({ of }) => of === 'a').length).toBeGreaterThan(10);
  expect(log.tail('a', 0).map(({ number }) => number)).toEqual(Array.from({ length: 3000 }, (_, index) => index + 1));
});

test.each([-1, 0, 1])(
  'what is sent to a worker that starts is delivered once, if the clock of its sender differs by %i s',
  async (seconds) => {
    const [lender, other] = [worker('a'), worker('b')];
    send(lender.log, 'b', 1, 3);
    send(other.log, 'b', 1, 3);
    const content = { rooms: [], except: [], packets: ['x'] };
    const { log, history, delivered } = newcomer([lender, other], (to, question) => {
      if (question.of)
        for (const number of [4, 5]) lender.log.add(['b', number, Date.now() + seconds * 1000 + number], content);
      // The newcomer asks the one that knows most.
      if (to === other) other.log.since = Date.now();
      return to.loans.answer(question);
    });
    await history.borrow();
    expect([isOld(log), log.headOf('b').last, delivered]).toEqual([true, 5, [4, 5]]);
    expect([4, 5, 6].map((number) => log.add(['b', number, Date.now()], content))).toEqual([false, false, true]);
  },
);

test.each([-1, 0, 1])(
  'a history has the last messages of a worker that has ended, if its clock differed by %i s',
  async (seconds) => {
    const lender = worker('a');
    const sentAt = Date.now() + seconds * 1000 - 50;
    for (const number of [1, 2]) {
      lender.log.add(['gone', number, sentAt + number], { rooms: [], except: [], packets: ['x'] });
    }
    const { log, history } = newcomer([lender]);
    await history.borrow();
    expect([isOld(log), log.tail('gone', 0).length]).toEqual([true, 2]);
  },
);

test('without the answer of one worker, no history counts', async () => {
  const [lender, silent] = [worker('a'), worker('b')];
  const { log, history } = newcomer([lender, silent], (to, question) =>
    to === silent ? (Promise.resolve(undefined) as never) : to.loans.answer(question),
  );
  await history.borrow();
  expect(isOld(log)).toBe(false);
});

test('a history that lacks a broadcast which this worker lacks, too, does not count', async () => {
  const [lender, late] = [worker('a'), worker('b')];
  let asked = 0;
  const { log, history } = newcomer([lender, late], (to, question) => {
    // It had sent something before the newcomer received its messages.
    if (to === late && !question.of && asked++ % 2 === 0) return UNKNOWN;
    return to.loans.answer(question);
  });
  send(late.log, 'b', 1, 3);
  await history.borrow();
  expect([isOld(log), asked]).toEqual([false, 10]);
});

test('an outage meanwhile makes the history worthless', async () => {
  const lender = worker('a');
  const { log, history } = newcomer([lender], (to, question) => {
    if (question.of) log.since = Date.now() + 1;
    return to.loans.answer(question);
  });
  await history.borrow();
  expect(isOld(log)).toBe(false);
});

test('a lender vouches only for the time since the last message without a number', async () => {
  const lender = worker('a');
  lender.foreign.add({ at: Date.now() - 10_000, rooms: [], except: [] });
  const { log, history } = newcomer([lender]);
  await history.borrow();
  const age = Date.now() - log.since;
  expect([age > 8000, age < 60_000]).toEqual([true, true]);
});

test('malformed questions and more than 64 loans get an empty answer', async () => {
  const { loans, log } = worker('a');
  send(log, 'a', 1, 1000, 'y'.repeat(1000));
  for (const question of [null, 5, 'x', {}]) expect(await loans.answer(question)).toMatchObject({ worker: 'a' });
  for (const question of [
    { of: 'b' },
    { of: 'a' },
    { of: 'a', loan: 'x', heads: 5 },
    { of: 'a', loan: 'x', heads: [5] },
  ]) {
    expect(await loans.answer(question)).toBe('');
  }
  for (let loan = 0; loan < 64; loan++) expect(await loans.answer({ of: 'a', loan: `${loan}` })).not.toBe('');
  expect(await loans.answer({ of: 'a', loan: 'more' })).toBe('');
});

test('loans that wait for broadcasts count among the 64, too', async () => {
  const { loans } = worker('a');
  send(worker('b').log, 'b', 1, 1);
  const heads: [string, number][] = [['b', 1]];
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, loan) => loans.answer({ of: 'a', loan: `${loan}`, heads })),
  );
  expect(answers.filter((answer) => answer !== '').length).toBe(64);
});

test('a question that is repeated while its loan waits gets an empty answer', async () => {
  const { loans, log } = worker('a');
  const question = { of: 'a', loan: 'x', heads: [['b', 1]] };
  const first = loans.answer(question);
  expect(await loans.answer(question)).toBe('');
  send(log, 'b', 1, 1);
  expect(await first).not.toBe('');
});

test('a lender that drops packets during a loan lends what it had', async () => {
  const memory = new PacketMemory(1e9);
  const lender = worker('a', memory);
  send(lender.log, 'a', 1, 3000, 'y'.repeat(1000));
  const { log, history } = newcomer([lender], (to, question) => {
    if (question.of && !question.heads) memory.dropBefore(Date.now() - 60_000 + 100);
    return to.loans.answer(question);
  });
  await history.borrow();
  expect([isOld(log), log.tail('a', 0).length]).toEqual([true, 3000]);
});

test('a lender that ends half-way is followed by another one, whose parts may be others', async () => {
  const [lender, other] = [worker('a'), worker('b')];
  for (const { log } of [lender, other]) send(log, 'c', 1, 3000, 'y'.repeat(1000));
  // The other one is not asked before. It has more, so that its parts begin elsewhere.
  const { since } = other.log;
  other.log.since = Date.now();
  send(other.log, 'd', 1, 700);
  const workers = [lender, other];
  let parts = 0;
  const { log, history, delivered } = newcomer(workers, async (to, question) => {
    if (to === lender && question.of === 'a' && ++parts === 3) {
      workers.shift();
      other.log.since = since;
    }
    return workers.includes(to) ? to.loans.answer(question) : '';
  });
  await history.borrow();
  expect([isOld(log), delivered, parts]).toEqual([true, [], 3]);
  expect(log.tail('c', 0).map(({ number }) => number)).toEqual(Array.from({ length: 3000 }, (_, index) => index + 1));
  expect(log.tail('d', 0).length).toBe(700);
});

test('machines that start at the same time, and know nothing, end their search', async () => {
  const both = [worker('a'), worker('b')];
  for (const { log } of both) log.start();
  const [one, other] = [newcomer(both), newcomer(both)];
  one.log.since = both[0]!.log.since - 1000;
  await Promise.all([one, other].map(({ history }) => history.borrow()));
  expect([one, other].map(({ log }) => isOld(log))).toEqual([false, false]);
});

describe('a worker that has the history of its machine', () => {
  const content = { rooms: ['room'], except: [], packets: ['x'] };
  const taught = (others: Worker[], answer?: Parameters<typeof newcomer>[1]) => {
    const started = newcomer(others, answer);
    started.log.since = Date.now() - HOUR_MS;
    return started;
  };

  test('requests what another worker has sent, and it lacks, until it has it', async () => {
    const far = worker('far');
    send(far.log, 'far', 1, 3);
    const { log, history, requests } = taught([far], (to, question) => {
      if (requests.length === 2) log.add(['far', 3, Date.now()], content);
      return to.loans.answer(question);
    });
    log.add(['far', 1, Date.now()], content);
    await history.catchUp();
    const request = { type: 'tail', nsp: '/', sender: 'far', last: 1 };
    expect([requests, isOld(log)]).toEqual([[request, request], true]);
  });

  test('that gets it from no worker of its machine, knows nothing from before', async () => {
    const far = worker('far');
    send(far.log, 'far', 1, 3);
    const { log, history } = taught([far]);
    await history.catchUp();
    expect(isOld(log)).toBe(false);
  });

  test('and lacks nothing, or is not answered, keeps it', async () => {
    const far = worker('far');
    send(far.log, 'far', 1, 3);
    for (const known of [3, 0]) {
      const { log, history, requests } = taught([far], (to, question) =>
        known > 0 ? to.loans.answer(question) : (Promise.resolve(undefined) as never),
      );
      if (known > 0) log.add(['far', known, Date.now()], content);
      await history.catchUp();
      expect([requests, isOld(log)]).toEqual([[], true]);
    }
  });
});
