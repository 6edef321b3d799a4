import { performance } from 'node:perf_hooks';
import { Rooms } from '../../../public/gjallar-client.js';
import { Inbox, textOf } from '../users/inbox.js';
import { meet } from '../users/meeting.js';
import { pace } from '../users/pace.js';
import { User } from '../users/user.js';

export { leave } from './chat.mjs';

let talker;

/** All in one room, as `gjallar/client` keeps them there. The first user talks; the others lose their connections. */
export const join = User.step(async (user, { clients, $testId }) => {
  user.room = `load-${$testId}`;
  user.mayLoseConnection = true;
  user.rounds = 0;
  if (user.number === 0) talker = user;
  user.inbox = new Inbox(user, 'message.delivery');
  const rooms = new Rooms(user.socket);
  const { offset } = await rooms.join(user.room, {
    onMessage: (message) => {
      user.inbox.receive(message);
      user.heard?.();
    },
    onRecovered: ({ complete }) => complete || user.fault('MESSAGES_GONE'),
    onRefused: ({ code }) => user.fault(code),
  });
  user.inbox.startAt(offset);
  await meet(user, 'join', clients);
});

/** A round: all connections break at once while the talker goes on, and no user may miss a message. */
export const lose = User.step(async (user, { clients, perSecond, seconds }) => {
  await meet(user, `round ${user.rounds}`, clients);
  const count = perSecond * seconds;
  const said = user.rounds * count;
  user.rounds += 1;
  if (user === talker) {
    await pace({ perSecond, count }, (index) =>
      user.request('message', { room: user.room, text: textOf(user, said + index + 1) }, 'message.ack'),
    );
  } else {
    const lost = performance.now();
    const connected = new Promise((resolve) => user.socket.once('connect', resolve));
    user.socket.io.engine.close();
    await user.within(connected, 'NO_RECONNECTION');
    user.record('reconnect.connected', performance.now() - lost);
    const heard = new Promise((resolve) => {
      user.heard = resolve;
    });
    await user.within(heard, 'MESSAGE_MISSING');
    user.record('reconnect.heard', performance.now() - lost);
  }
  await user.inbox.until(talker.name, said + count);
});
