import { stripVTControlCharacters } from 'node:util';
import { expect, test } from '@jest/globals';
import { readableLine } from '../../src/base/log.js';

const shown = (line: object) => stripVTControlCharacters(readableLine(JSON.stringify(line)));

test('a line for people has the time, the level, the worker, the message and its fields', () => {
  const time = new Date(2026, 0, 2, 3, 4, 5).toISOString();
  const line = { level: 'warn', time, pid: 1, process: 'worker', worker: 2, clients: 3, from: 'a', msg: 'it happened' };
  expect(shown(line)).toBe('03:04:05 WARN  worker 2: it happened clients=3 from=a\n');
  const error = { name: 'Error', message: 'no', stack: 'Error: no\n    at here' };
  expect(shown({ level: 'error', time, msg: 'it failed', error })).toBe(
    '03:04:05 ERROR it failed\n    Error: no\n        at here\n',
  );
  expect(readableLine('no JSON')).toBe('no JSON');
});
