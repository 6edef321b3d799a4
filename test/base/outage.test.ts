import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { errorCodes } from '../../src/base/errors.js';
import { CheckedOutage } from '../../src/base/outage.js';
import { HistoryError } from '../../src/features/history/store.js';
import { Reported } from '../support/reports.js';

const secret = new Error('connect ECONNREFUSED 10.1.2.3:5432, user "operator"');

test('an error of the history tells clients nothing of what the database said', () => {
  for (const code of ['HISTORY_UNAVAILABLE', 'HISTORY_REFUSED', 'HISTORY_UNCERTAIN'] as const) {
    const error = new HistoryError(code, secret);
    expect(error).toMatchObject({ name: 'HistoryError', code, message: errorCodes[code].message, cause: secret });
  }
});

describe('an outage', () => {
  const code = 'ARCHIVE_FAILS';
  const error = new HistoryError('HISTORY_UNAVAILABLE', secret);
  let reports: Reported;
  let isOver: boolean;
  let outage: CheckedOutage;
  beforeEach(() => {
    reports = new Reported();
    isOver = false;
    jest.useFakeTimers();
    outage = new CheckedOutage({
      reports,
      reasonFor: () => ({ code: 'ARCHIVE_FAILS', text: 'it is down' }),
      check: () => (isOver ? Promise.resolve() : Promise.reject(secret)),
    });
  });
  afterEach(() => {
    outage.close();
    jest.useRealTimers();
  });

  test('has one line with the reason and one problem, however often calls fail', () => {
    for (let n = 0; n < 1000; n++) outage.failed(error);
    expect(reports.lines).toEqual([['error', { code, error }, 'it is down']]);
    expect(reports.down).toEqual(['it is down']);
  });

  test('ends with a line once a check succeeds, without any client', async () => {
    outage.failed(error);
    await jest.advanceTimersByTimeAsync(60_000);
    expect(reports.down).toEqual(['it is down']);
    isOver = true;
    await jest.advanceTimersByTimeAsync(15_000);
    expect(reports.down).toEqual([]);
    expect(reports.lines.slice(1)).toEqual([['info', { code, failures: 1 }, 'over: it is down']]);
    outage.failed(error);
    expect(reports.lines.map(([level]) => level)).toEqual(['error', 'info', 'error']);
  });

  test('lasts while calls still fail, even if the check does not', async () => {
    isOver = true;
    for (let second = 0; second < 60; second++) {
      outage.failed(error);
      await jest.advanceTimersByTimeAsync(1000);
    }
    expect(reports.lines).toHaveLength(1);
    await jest.advanceTimersByTimeAsync(15_000);
    expect(reports.lines.at(-1)).toEqual(['info', { code, failures: 60 }, 'over: it is down']);
  });
});
