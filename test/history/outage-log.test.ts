import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { errorCodes } from '../../src/errors.js';
import { HistoryError } from '../../src/history/errors.js';
import { OutageLog } from '../../src/history/outage-log.js';

const secret = new Error('connect ECONNREFUSED 10.1.2.3:5432, user "operator"');

test('an error of the history tells clients nothing of what the database said', () => {
  for (const code of ['HISTORY_UNAVAILABLE', 'HISTORY_REFUSED', 'HISTORY_UNCERTAIN'] as const) {
    const error = new HistoryError(code, secret);
    expect(error).toMatchObject({ name: 'HistoryError', code, message: errorCodes[code].message, cause: secret });
  }
});

describe('the log of outages', () => {
  let lines: [string, object][];
  let outages: OutageLog;
  beforeEach(() => {
    lines = [];
    jest.useFakeTimers();
    outages = new OutageLog(
      { error: (fields) => lines.push(['error', fields]), info: (fields) => lines.push(['info', fields]) },
      'the history',
    );
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  test('has one line when it begins, with the reason, and one when it is over', () => {
    const error = new HistoryError('HISTORY_UNAVAILABLE', secret);
    outages.note(undefined);
    for (let n = 0; n < 1000; n++) outages.note(error);
    expect(lines).toEqual([['error', { error }]]);
    // One call that succeeds among others that fail ends nothing.
    outages.note(undefined);
    outages.note(error);
    expect(lines.length).toBe(1);
    jest.setSystemTime(Date.now() + 6000);
    outages.note(undefined);
    outages.note(undefined);
    expect(lines[1]).toEqual(['info', { failures: 1001 }]);
    outages.note(error);
    expect(lines.map(([level]) => level)).toEqual(['error', 'info', 'error']);
  });
});
