import { expect, test } from '@jest/globals';
import { withTimesMoved } from '../../../../src/features/recovery/keeper/times.js';
import type { SessionState, StreamState } from '../../../../src/features/recovery/messages.js';

/** The clocks of two machines differ: a keeper reads what another one says by its own. */

const packet = { number: 3, at: 700, rooms: [], except: [], packets: [] };
const stream: StreamState = { floor: 1, floorAt: 500, last: 3, lagMs: 10, packets: [packet] };
const moved = { ...stream, floorAt: 1500, lagMs: 1010 };
const session = (aliveAt: number, at: number) =>
  ({ pid: 'p', aliveAt, floors: [{ at, numbers: '~a.1', rooms: ['room'] }] }) as unknown as SessionState;

test('a session that another machine gives has its times by the clock of this one, and its age', () => {
  const away = { session: session(600, 400), awayMs: 30, direct: stream };
  const message = { type: 'sought', answers: 1, namespace: 's', away } as const;
  const expected = { session: session(1600, 1400), awayMs: 30, direct: moved };
  expect(withTimesMoved(message, 1000)).toEqual({ ...message, away: expected });
  expect(withTimesMoved({ ...message, away: undefined }, 1000)).toEqual({ ...message, away: undefined });
});

test('so has what a keeper leaves that ends', () => {
  const away = { session: session(600, 400), awayMs: 30, direct: stream };
  const message = {
    type: 'inherit',
    namespace: 's',
    options: {} as never,
    streams: [{ sender: 'a', ...stream }],
    away: [away],
  };
  expect(withTimesMoved(message as never, 1000)).toEqual({
    ...message,
    streams: [{ sender: 'a', ...moved }],
    away: [{ session: session(1600, 1400), awayMs: 30, direct: moved }],
  });
});

test('so has a question about what a client lacks', () => {
  const question = { offset: 'o', at: 550, received: '', receivesSince: 100, session: session(600, 400) } as never;
  const collect = { type: 'collect', request: 1, namespace: 's', question } as const;
  expect(withTimesMoved(collect, 1000)).toEqual({
    ...collect,
    question: { offset: 'o', at: 1550, received: '', receivesSince: 1100, session: session(1600, 1400) },
  });
});
