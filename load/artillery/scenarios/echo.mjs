import { Sequence } from '../users/inbox.js';
import { meet } from '../users/meeting.js';
import { pace } from '../users/pace.js';
import { User } from '../users/user.js';

/** All users together send so many values of 4 bytes a second. Each must come back, in order. */
export const echo = User.step(async (user, { clients, seconds, $loopElement: rate }) => {
  await meet(`echo ${rate}`, clients);
  const order = new Sequence(-1);
  const options = { perSecond: rate / clients, count: Math.round((rate * seconds) / clients) };
  await pace({ ...options, phase: user.number / clients }, async (index) => {
    const value = index.toString(36).padStart(4, '0');
    const fault = (await user.request('echo', value, `echo.${rate}`)) === value ? order.take(index) : 'ECHO_WRONG';
    if (fault) user.fault(fault);
  });
});

export const finish = User.step(async (user) => user.finish());
