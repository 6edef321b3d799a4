import { textOf } from '../users/inbox.js';
import { meet } from '../users/meeting.js';
import { pace } from '../users/pace.js';
import { User } from '../users/user.js';

export { join, leave } from './chat.mjs';

const names = [];

/** The first users talk; every user must receive every message. */
export const talk = User.step(async (user, { clients, publishers, perSecond, seconds }) => {
  if (user.number < publishers) names.push(user.name);
  await meet(user, 'talk', clients);
  const count = perSecond * seconds;
  if (user.number < publishers) {
    await pace({ perSecond, count, phase: user.number / publishers }, (index) =>
      user.request('message', { room: user.room, text: textOf(user, index + 1) }, 'message.ack'),
    );
  }
  for (const name of names) await user.inbox.until(name, count);
});
