import { afterEach, expect, test } from '@jest/globals';
import {
  decodeFromMachine,
  encodeStateMessage,
  type ToMachine,
} from '../../../../src/features/state/sequencer/messages.js';
import type { SequencedRoom } from '../../../../src/features/state/sequencer/room.js';
import { Sequencer } from '../../../../src/features/state/sequencer/sequencer.js';
import { eventually } from '../../../support/until.js';

const bounds = { maxKeys: 10, maxBytes: 10_000 };
const all: Sequencer[] = [];

afterEach(async () => {
  for (const sequencer of all.splice(0)) await sequencer.closed();
});

/** The sequencers of two machines, and a link between them that can lose messages. */
function twoMachines() {
  const isLost: { now: (message: ToMachine) => boolean } = { now: () => false };
  const sent: ToMachine[] = [];
  const [one, two]: Sequencer[] = ['one', 'two'].map((name) => {
    const send = (message: ToMachine) => {
      const read = decodeFromMachine(encodeStateMessage(message));
      sent.push(read);
      if (!isLost.now(read)) (name === 'one' ? two! : one!).onHubMessage(name, read);
    };
    const sequencer = new Sequencer({
      isAlone: true,
      sendToWorker: () => {},
      sendToHub: (_hub, message) => process.nextTick(send, message),
    });
    all.push(sequencer);
    sequencer.onMessage(1, { type: 'open', room: 'r', node: `w-${name}`, epoch: '', number: 0, bounds });
    return sequencer;
  });
  const meet = () => {
    one!.onHubHere('two');
    two!.onHubHere('one');
  };
  const part = () => {
    one!.onHubGone('two');
    two!.onHubGone('one');
  };
  return { one: one!, two: two!, meet, part, isLost, sent };
}

let clock = 0;
function set(sequencer: Sequencer, key: string, value: string | undefined, madeAt = ++clock, owner?: string): void {
  const changes = [{ key, value, clock: madeAt, origin: '-', owner }];
  sequencer.onMessage(1, { type: 'changes', room: 'r', last: clock, changes });
  sequencer.flush();
}

const roomOf = (sequencer: Sequencer) =>
  (sequencer as unknown as { rooms: Map<string, { sequenced: SequencedRoom }> }).rooms.get('r')!.sequenced;
const stateOf = (sequencer: Sequencer) =>
  Object.fromEntries([...roomOf(sequencer).entries.present()].map(({ key, value }) => [key, value]).sort());
const both = async ({ one, two }: ReturnType<typeof twoMachines>, expected: object) => {
  await eventually(() => expect([stateOf(one), stateOf(two)]).toEqual([expected, expected]));
};

test('a set that its hub gets late does not replace a newer one of another machine', async () => {
  const machines = twoMachines();
  const { one, two, meet } = machines;
  const early = ++clock;
  set(two, 'a', 'new');
  set(two, 'b', 'new');
  set(one, 'a', 'old', early);
  meet();
  await both(machines, { a: 'new', b: 'new' });
  set(one, 'b', 'old', early + 1);
  set(one, 'end', '1');
  await both(machines, { a: 'new', b: 'new', end: '1' });
});

test('the sets of the workers of a machine count in the order in which its hub gets them', async () => {
  const machines = twoMachines();
  const { one, two, meet } = machines;
  meet();
  const early = ++clock;
  set(one, 'a', 'first');
  set(one, 'a', 'second', early);
  await both(machines, { a: 'second' });
  // Beside deletions that are forgotten everywhere.
  for (let key = 0; key < 30; key++) {
    set(two, `k${key}`, '1');
    set(two, `k${key}`, undefined);
  }
  set(one, 'late', '1', early);
  await both(machines, { a: 'second', late: '1' });
});

test('a partition that heals brings nothing back, even if deletions are forgotten', async () => {
  const machines = twoMachines();
  const { one, two, meet, part } = machines;
  meet();
  set(one, 'old', '1');
  set(one, 'kept', '1');
  await both(machines, { kept: '1', old: '1' });
  part();
  set(two, 'old', undefined);
  for (let key = 0; key < 30; key++) {
    set(two, `k${key}`, '1');
    set(two, `k${key}`, undefined);
  }
  set(one, 'kept', '2');
  set(one, 'new', '1');
  meet();
  await both(machines, { kept: '2', new: '1' });
});

test('owned keys are not on a machine that cannot reach that of their owner, and are there again when it can', async () => {
  const machines = twoMachines();
  const { one, two, meet, part } = machines;
  meet();
  set(one, 'of one', '1', ++clock, 'w-one');
  set(two, 'of two', '2', ++clock, 'w-two');
  set(one, 'kept', '3');
  const all = { 'of one': '1', 'of two': '2', kept: '3' };
  await both(machines, all);
  for (let time = 0; time < 2; time++) {
    part();
    expect([stateOf(one), stateOf(two)]).toEqual([
      { 'of one': '1', kept: '3' },
      { 'of two': '2', kept: '3' },
    ]);
    // More deletions than are remembered.
    for (let key = 0; key < 30 * time; key++) {
      set(two, `k${key}`, '1');
      set(two, `k${key}`, undefined);
    }
    meet();
    await both(machines, all);
  }
  part();
  one.onWorkerGone(1);
  meet();
  await both(machines, { 'of two': '2', kept: '3' });
});

test('of two other machines, one that cannot reach the third does not learn its owned keys from the other', async () => {
  const { one, two, meet } = twoMachines();
  meet();
  one.onHubHere('three');
  const changes = [{ key: 'of three', value: '3', clock: ++clock, origin: 'three', owner: 'w-three' }];
  one.onHubMessage('three', { type: 'changes', room: 'r', changes });
  set(one, 'end', '1');
  await eventually(() => expect(stateOf(two)).toEqual({ end: '1' }));
  expect(stateOf(one)).toEqual({ 'of three': '3', end: '1' });
  two.onHubGone('one');
  two.onHubHere('one');
  set(one, 'end', '2');
  await eventually(() => expect(stateOf(two)).toEqual({ end: '2' }));
  one.onHubGone('three');
  expect(stateOf(one)).toEqual({ end: '2' });
});

test('a lost message is found by the digests', async () => {
  const machines = twoMachines();
  const { one, meet, isLost, sent } = machines;
  meet();
  set(one, 'a', '1');
  await both(machines, { a: '1' });
  isLost.now = ({ type }) => type === 'changes';
  set(one, 'b', '2');
  set(one, 'a', undefined);
  await eventually(() => expect(sent.filter(({ type }) => type === 'changes').length).toBeGreaterThan(2));
  isLost.now = () => false;
  await both(machines, { b: '2' });
  // Then they are quiet.
  const pulls = () => sent.filter(({ type }) => type === 'pull').length;
  const before = pulls();
  const digests = sent.filter(({ type }) => type === 'digests').length;
  await eventually(() => expect(sent.filter(({ type }) => type === 'digests').length).toBeGreaterThan(digests + 3));
  expect(pulls()).toBe(before);
}, 30_000);
