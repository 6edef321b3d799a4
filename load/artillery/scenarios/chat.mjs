import { Inbox, textOf } from '../users/inbox.js';
import { User } from '../users/user.js';

export const join = User.step(async (user, { rooms, $testId }) => {
  user.room = `load-${$testId}-${user.number % rooms}`;
  user.inbox = new Inbox(user, 'message.delivery');
  user.socket.on('message', (message) => user.inbox.receive(message));
  const { offset } = await user.request('join', user.room, 'join.ack');
  user.inbox.startAt(offset);
});

export const say = User.step(async (user) => {
  user.said += 1;
  await user.request('message', { room: user.room, text: textOf(user, user.said) }, 'message.ack');
});

/** Those who talk must hear themselves before. */
export const leave = User.step(async (user) => {
  await user.inbox.until(user.name, user.said);
  await user.request('leave', user.room, 'leave.ack');
  user.finish();
});
