import { Inbox, textOf } from '../users/inbox.js';
import { meet } from '../users/meeting.js';
import { pace } from '../users/pace.js';
import { User } from '../users/user.js';

const users = [];

/** Two and two write to one another; what one writes, both get. */
export const write = User.step(async (user, { clients, perSecond, seconds }) => {
  users[user.number] = user;
  user.inbox = new Inbox(user, 'direct.delivery');
  user.inbox.startAt(0);
  user.socket.on('direct', (message) => user.inbox.receive(message));
  await meet('write', clients);

  const other = users[user.number ^ 1];
  const count = perSecond * seconds;
  await pace({ perSecond, count, phase: user.number / clients }, (index) =>
    user.request('direct', { to: other.name, text: textOf(user, index + 1) }, 'direct.ack'),
  );
  await user.inbox.until(user.name, count);
  await user.inbox.until(other.name, count);
  // The first user to leave must not break the other one's count.
  await meet(`done ${user.number >> 1}`, 2);
  user.finish();
});
