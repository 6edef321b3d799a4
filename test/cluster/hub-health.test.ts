import { expect, test } from '@jest/globals';
import { ConnectionHealth } from '../../src/cluster/backplanes/connection-health.js';
import { HubHealth, statusOf } from '../../src/cluster/hub/hub-health.js';
import { Reported } from '../support/reports.js';

Reported.here();

test('what a hub has lost is counted once, whichever worker counts for the machine', () => {
  let leader = 0;
  const workers = [0, 1].map((index) => new HubHealth(() => leader === index));
  const hub = new ConnectionHealth('Redis');
  const tell = () => {
    for (const worker of workers) worker.update(Buffer.from(statusOf(hub)));
  };
  const gaps = () => workers.map((worker) => worker.gaps);
  tell();
  hub.noteGap('machine2', 'test');
  hub.noteGap('machine2', 'test');
  tell();
  expect(gaps()).toEqual([2, 0]);
  // The first worker ends, and its counts stay in the sums of the primary.
  leader = 1;
  hub.noteGap('machine2', 'test');
  tell();
  expect(gaps()).toEqual([2, 1]);
  for (const worker of workers) worker.gone();
  hub.gaps = 1;
  tell();
  expect(gaps()).toEqual([2, 2]);
});
