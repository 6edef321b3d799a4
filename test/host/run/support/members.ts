import { io, type Socket } from 'socket.io-client';
import { nextEvent } from '../../../support/clients.js';
import type { RunningApplication } from './application.js';

const open: Socket[] = [];

/** Disconnects the members of the test. */
export function leaveAll(): void {
  for (const socket of open.splice(0)) socket.disconnect();
}

/** A client that counts how often it is disconnected. */
export class Member {
  readonly socket: Socket;
  disconnects = 0;

  constructor(url: string, name: string, options: object = {}) {
    const given = { forceNew: true, transports: ['websocket'], reconnectionDelay: 50, auth: { name }, ...options };
    this.socket = io(url, given);
    open.push(this.socket);
    this.socket.on('disconnect', () => this.disconnects++);
  }

  async connected(): Promise<void> {
    await nextEvent(this.socket, 'connect');
  }
}

/** Numbered names of members without options, for `connect()`. */
export const namesOf = (prefix: string, count: number): Record<string, object> =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`${prefix}${at}`, {}]));

export async function connect(app: RunningApplication, options: Record<string, object>, path = ''): Promise<Member[]> {
  const members = Object.entries(options).map(([name, given]) => new Member(app.url + path, name, given));
  await Promise.all(members.map((member) => member.connected()));
  return members;
}
