import type { TopKeys } from '../../../engine/top-keys.js';
import type { ApplicationView } from '../../../host/runtime/application.js';
import { chatRoomOf } from '../context.js';
import type { PlainMembers } from '../plain-members.js';

/** The namespace of the chat. */
const NAMESPACE = '/';

/** The rooms and users of the chat, as the operator sees them. */
export function viewOf(plainMembers: PlainMembers, users: TopKeys): ApplicationView {
  const nameOf: ApplicationView['nameOf'] = (namespace, room) =>
    namespace === NAMESPACE ? chatRoomOf(room) : undefined;
  return {
    nameOf,
    // The adapter counts all plain members of this worker as one.
    moreMembersOf: (namespace, room) => Math.max(0, plainMembers.in(nameOf(namespace, room) ?? '') - 1),
    users,
  };
}
