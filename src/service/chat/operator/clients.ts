import { type ErrorCode, errorCodes } from '../../../base/errors.js';
import type { RunningApplication } from '../../../host/index.js';
import type { PlainSocket } from '../../../io/plain/index.js';
import { normalForm } from '../../accounts/identity.js';
import { type ChatContext, ioRoomOf } from '../context.js';
import type { ChatMember } from '../plain/member.js';
import type { ChatSocket, Ended } from '../protocol.js';

type PlainUser = PlainSocket<ChatMember>;

/**
 * How the chat takes part in the operator's actions: clients learn why they are disconnected.
 * @param plain the plain WebSockets of this worker
 */
export function chatSeam({ io }: ChatContext, plain: Iterable<PlainUser>): NonNullable<RunningApplication['operator']> {
  return {
    nameOf: normalForm,
    userOf: ({ data }) => (data as ChatSocket['data']).name,
    beforeDisconnect: (socket) => tellEnded(socket as unknown as ChatSocket, 'DISCONNECTED'),
    disconnectOthers: (target) => {
      if ('id' in target) return 0;
      const matches =
        'user' in target
          ? ({ member }: PlainUser) => member.identity.name === target.user
          : (socket: PlainUser) => socket.comesFrom(target.address);
      return refuseAll(plain, matches, 'DISCONNECTED');
    },
    closeRoom: (room) => {
      const { adapter, sockets } = io.of('/');
      let count = refuseAll(plain, ({ member }) => member.room === room, 'ROOM_CLOSED');
      for (const id of [...(adapter.rooms.get(ioRoomOf(room)) ?? [])]) {
        const socket = sockets.get(id);
        // The plain members, or a socket that has just disconnected.
        if (!socket) continue;
        count++;
        tellEnded(socket, 'ROOM_CLOSED', room);
        void socket.leave(ioRoomOf(room));
      }
      return count;
    },
  };
}

/** Tells a client that the operator has ended its connection, or its membership of a room. */
function tellEnded(socket: ChatSocket, code: Ended['code'], room?: string): void {
  socket.emit('ended', { ...(room !== undefined && { room }), code, message: errorCodes[code].message });
}

/** Closes the plain WebSockets that match, and returns their number. */
function refuseAll(plain: Iterable<PlainUser>, matches: (socket: PlainUser) => boolean, code: ErrorCode): number {
  const found = [...plain].filter(matches);
  for (const socket of found) socket.refuse(code);
  return found.length;
}

/** Ends the connections on this worker whose tokens are revoked. */
export function endRevoked({ revoked, expiry }: ChatContext, plain: Iterable<PlainUser>): void {
  if (!revoked) return;
  for (const socket of expiry.where((identity) => revoked.isRevoked(identity))) {
    tellEnded(socket, 'TOKEN_REVOKED');
    socket.disconnect(true);
  }
  refuseAll(plain, ({ member }) => revoked.isRevoked(member.identity), 'TOKEN_REVOKED');
}
