import type { TopKeys } from '../../engine/top-keys.js';
import type { ApplicationView } from '../../runtime/application.js';
import { chatRoomOf, ioRoomOf } from '../context.js';
import type { PlainMembers } from '../plain-members.js';

/** The namespace of the chat. */
const NAMESPACE = '/';

/** The rooms and users of the chat, as the operator sees them. */
export function viewOf(plainMembers: PlainMembers, users: TopKeys): ApplicationView {
  const nameOf: ApplicationView['nameOf'] = (namespace, room) =>
    namespace === NAMESPACE ? chatRoomOf(room) : undefined;
  return {
    nameOf,
    others: {
      membersOf: (namespace, room) => plainMembers.in(nameOf(namespace, room) ?? ''),
      roomsOf: function* (namespace) {
        if (namespace === NAMESPACE) for (const room of plainMembers.all) yield ioRoomOf(room);
      },
    },
    users,
  };
}
