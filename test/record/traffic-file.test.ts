import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { Step } from '../../src/record/steps.js';
import { TrafficFile } from '../../src/record/traffic-file.js';
import { until } from '../support/until.js';

const step: Step = { at: 1, do: 'request', method: 'GET', path: '/' };

function open(path: string) {
  const told: string[] = [];
  const onFailed = ({ message }: Error) => told.push(message);
  const file = new TrafficFile({ path, maxBytes: 1_000_000, onFull: () => told.push('full'), onFailed });
  return { file, told };
}

test('a full disk ends the recording with one message, and throws nothing', async () => {
  const { file, told } = open('/dev/full');
  file.add(step);
  // The timer writes.
  await until(() => told.length > 0);
  expect(told).toEqual([expect.stringContaining('ENOSPC')]);
  expect(file.isOpen).toBe(false);
  for (let count = 0; count < 5000; count++) file.add(step);
  file.write();
  expect(told).toHaveLength(1);
});

test('a file that cannot be opened ends it too', () => {
  const { file, told } = open('/dev/null/traffic');
  file.add(step);
  file.write();
  expect(told).toEqual([expect.stringContaining('ENOTDIR')]);
});

test('only its owner may read a file that is made anew', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gjallar-traffic-'));
  try {
    const path = join(folder, 'traffic');
    const { file } = open(path);
    file.add(step);
    file.write();
    expect(readFileSync(path, 'utf8')).toBe(`${JSON.stringify(step)}\n`);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
