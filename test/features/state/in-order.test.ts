import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { openHubService } from '../../../src/features/state/hub-service.js';
import { machineTime } from '../../../src/features/state/in-order.js';
import {
  decodeStateMessage,
  encodeStateMessage,
  type FromSequencer,
  type ToSequencer,
} from '../../../src/features/state/sequencer/messages.js';

/** A hub with two workers that have a room, and what it has sent them. */
function twoWorkers() {
  const sent: { worker: number; message: FromSequencer }[] = [];
  const service = openHubService({
    ...{ isAlone: true, isLinked: undefined },
    sendToWorker: (worker, bytes) =>
      sent.push({ worker, message: decodeStateMessage<FromSequencer>(Buffer.from(bytes)) }),
    sendToHub: () => {},
    attempt: (work) => work(),
  });
  const say = (worker: number, at: number, message: ToSequencer) =>
    service.onMessage(worker, encodeStateMessage({ ...message, at } as never));
  const bounds = { maxKeys: 10, maxBytes: 1000 };
  for (const worker of [1, 2]) service.onWorkerHere?.(worker);
  for (const worker of [1, 2])
    say(worker, 0, { type: 'open', room: 'r', node: `w${worker}`, epoch: '', number: 0, bounds });
  const set = (value: number): ToSequencer => ({
    ...{ type: 'changes', room: 'r', last: value },
    changes: [{ key: 'k', clock: 1, origin: 'w', value: `${value}` }],
  });
  const newest = () =>
    sent.flatMap(({ message }) => ('changes' in message ? message.changes : [])).findLast(({ key }) => key === 'k')
      ?.value;
  return { service, sent, say, set, newest };
}

test('of two workers, the one that has set a key later wins, though its message is read first', async () => {
  const { service, say, set, newest } = twoWorkers();
  await turn();
  const earlier = machineTime();
  say(2, machineTime(), set(2));
  // The socket of the other worker is read in the next turn.
  await turn();
  say(1, earlier, set(1));
  await turn();
  await turn();
  await turn();
  expect(newest()).toBe('2');
  service.close();
});

test('a question is answered after what another worker had set before it', async () => {
  const { service, sent, say, set } = twoWorkers();
  await turn();
  const earlier = machineTime();
  say(2, machineTime(), { type: 'ping', room: 'r', request: 7 });
  say(1, earlier, set(1));
  await turn();
  await turn();
  await turn();
  const to2 = sent.filter(({ worker }) => worker === 2).map(({ message }) => message.type);
  expect(to2.slice(-2)).toEqual(['changes', 'reply']);
  service.close();
});

test('what a worker has sent before it ended counts', () => {
  const { service, say, set, newest, sent } = twoWorkers();
  say(1, machineTime(), set(1));
  service.onWorkerGone(1);
  say(2, machineTime(), { type: 'ping', room: 'r', request: 7 });
  service.close();
  expect(newest()).toBe('1');
  expect(sent.at(-1)!.message).toMatchObject({ type: 'reply', answers: 7 });
});
