import type { Socket } from 'node:net';
import { Writable } from 'node:stream';
import { expect, test } from '@jest/globals';
import { Mesh } from '../../../src/cluster/mesh/mesh.js';
import { pack, senderOf } from '../../../src/cluster/wire/envelope.js';
import { types } from '../../../src/cluster/wire/types.js';
import { loadRunConfig } from '../../../src/host/config/load.js';
import type { MachineWorker } from '../../../src/host/index.js';
import type { Application } from '../../../src/host/runtime/application.js';
import { Orders } from '../../../src/host/runtime/lifecycle/orders.js';
import { startWorker } from '../../../src/host/runtime/worker.js';
import { atEnd } from '../../support/ends.js';
import { temporaryFolder } from '../../support/folder.js';
import { until } from '../../support/until.js';

const MEGABYTE = 1024 * 1024;
const COUNT = 8;

/** A worker that has sent eight megabytes to another one that does not read, and has then been ordered to stop. */
async function stoppedBehind() {
  const directory = temporaryFolder();
  const other = new Mesh(2, directory);
  atEnd(() => other.close());
  await other.listen();
  const heard: string[] = [];
  other.on({
    onMessage: (_from, { body }) => heard.push(`${body.length}`),
    onLeave: () => heard.push('gone'),
  });
  let ending = () => {};
  const ends = new Promise<void>((resolve) => {
    ending = resolve;
  });
  const orders: Orders = new Orders(({ type }) => type === 'ending' && ending());
  orders.receive({ type: 'join', workers: [2] });
  const lines: string[] = [];
  const logTo = new Writable({
    write: (chunk, _encoding, done) => {
      lines.push(String(chunk));
      done();
    },
  });
  let joined: MachineWorker | undefined;
  const application: Application = {
    survivesExceptions: false,
    start: async (worker) => {
      joined = worker;
      return {
        listen: async () => false,
        stopListening: () => {},
        isReady: () => true,
        isIdle: () => true,
        isBusy: () => false,
        stop: () => {},
        close: async () => {},
      };
    },
  };
  const { stopped } = await startWorker(loadRunConfig({}), application, {
    ...{ id: 1, directory, machine: 'machine0', orders, logTo },
    linked: () => {},
    onGone: () => {},
    ended: () => {},
  });
  const [link] = (other as unknown as { incoming: Map<Socket, number> }).incoming.keys();
  link!.pause();
  const bytes = pack({ type: types.broadcast, part: 0, from: senderOf(1, '') }, Buffer.alloc(MEGABYTE));
  for (let number = 0; number < COUNT; number++) joined!.mesh.send(2, bytes);
  orders.receive({ type: 'stop', over: 0 });
  await ends;
  return { link: link!, heard, stopped, lines: () => lines.filter((line) => line.includes('were lost')) };
}

test('a worker that ends waits for another one that is behind, for instance in a garbage collection', async () => {
  const { link, heard, stopped, lines } = await stoppedBehind();
  link.resume();
  await stopped;
  await until(() => heard.includes('gone'));
  expect(heard).toEqual([...Array.from({ length: COUNT }, () => `${MEGABYTE}`), 'gone']);
  expect(lines()).toEqual([]);
});

test('a worker that ends does not wait long for one that does not read, and says that messages are lost', async () => {
  const { stopped, lines } = await stoppedBehind();
  await stopped;
  await until(() => lines().length > 0);
  expect(JSON.parse(lines()[0]!)).toMatchObject({ level: 'error', worker: 1, bytes: expect.any(Number) });
});
