import { GjallarError } from '../../base/errors.js';
import { reportFailure } from '../../base/owner.js';
import type { AnyNamespace, AnySocket } from '../../io/any.js';
import { answerRequests } from '../requests.js';
import type { PresenceUpdate } from './updates.js';

/** A client in a room asks for its users. */
const ASK_EVENT = 'presence:users';
/** The clients in a room are told what has changed. */
const UPDATE_EVENT = 'presence:update';

/** The users of a room, or those that have changed: lists of `[user, data]`, or of `[user]` without data. */
interface ToldUsers {
  readonly members: number;
  /** Undefined if there are too many. */
  readonly users?: readonly (readonly [user: string, data?: unknown])[];
  readonly left?: readonly string[];
}

/** Tells the clients in rooms of this worker who is there with them. */
export class PresenceMembers {
  /** Ends it. */
  readonly close: () => void;

  constructor(
    private readonly nsp: AnyNamespace,
    private readonly toldOf: (room: unknown) => { members: number; users?: ReadonlyMap<string, unknown> },
  ) {
    const handlersOf = (socket: AnySocket) => ({ [ASK_EVENT]: (room: unknown) => this.answer(socket, room) });
    this.close = answerRequests(nsp, handlersOf, (error) =>
      reportFailure('telling a client the users of a room', error),
    );
  }

  tell({ room, members, joined, changed, left }: PresenceUpdate): void {
    // They are told the users, and not how many sockets these have.
    if (joined?.size === 0 && changed?.size === 0 && left?.size === 0) return;
    const users = joined && [...entriesOf(joined), ...entriesOf(changed)];
    const told: ToldUsers = { members, users, left: left && [...left.keys()] };
    this.nsp.local.to(room).emit(UPDATE_EVENT, room, told);
  }

  private async answer(socket: AnySocket, room: unknown): Promise<ToldUsers> {
    if (!socket.rooms.has(room as string)) {
      throw new GjallarError('NOT_IN_ROOM', 'Only the members of a room are told its users. Join it first.');
    }
    const { members, users } = this.toldOf(room);
    return { members, users: users && entriesOf(users) };
  }
}

const entriesOf = (users: ReadonlyMap<string, unknown> | undefined) =>
  [...(users ?? [])].map(([user, data]) => (data === undefined ? ([user] as const) : ([user, data] as const)));
