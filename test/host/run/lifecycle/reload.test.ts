import { afterEach, expect, test } from '@jest/globals';
import { temporaryFolder } from '../../../support/folder.js';
import { until } from '../../../support/until.js';
import { runApp, stopAll } from '../support/application.js';
import { connect, leaveAll, namesOf } from '../support/members.js';

let directory: string | undefined;

afterEach(async () => {
  leaveAll();
  await stopAll();
});

test('a reload disconnects each client once, though an old worker is slow to accept no more of them', async () => {
  directory = temporaryFolder();
  const app = await runApp('lifecycle/blocked.mjs', { env: { DRAIN_TIMEOUT: '1s', DIRECTORY: directory } });
  const members = await connect(app, namesOf('member', 30));
  app.process.kill('SIGHUP');
  await app.logged(({ msg }) => msg === 'reload finished');
  await until(() => members.every(({ socket }) => socket.connected));
  expect(members.map(({ disconnects }) => disconnects)).toEqual(members.map(() => 1));
  const workers = await Promise.all(members.map(({ socket }) => socket.emitWithAck('worker') as Promise<number>));
  expect(workers.every((worker) => worker > 2)).toBe(true);
});
