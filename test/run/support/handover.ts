import { io, type Socket } from 'socket.io-client';
import { nextEvent } from '../../support/clients.js';
import { type RunningApplication, runApp } from './application.js';

interface State {
  pid: number;
  recovered: boolean;
}

const open: Socket[] = [];

/** Disconnects the members of the test. */
export function leaveAll(): void {
  for (const socket of open.splice(0)) socket.disconnect();
}

/** A client that numbers what it says, and keeps what it hears of each other client. */
export class Member {
  readonly socket: Socket;
  readonly said = new Map<string, number[]>();
  disconnects = 0;
  pings = 0;
  id: string | undefined;
  spoken = 0;

  constructor(
    url: string,
    readonly name: string,
    options: object = {},
  ) {
    const given = { forceNew: true, transports: ['websocket'], reconnectionDelay: 50, auth: { name }, ...options };
    this.socket = io(url, given);
    open.push(this.socket);
    this.socket.on('said', (from: string, number: number) => {
      const numbers = this.said.get(from) ?? [];
      this.said.set(from, numbers);
      numbers.push(number);
    });
    this.socket.on('disconnect', () => this.disconnects++);
    this.socket.io.on('ping', () => this.pings++);
  }

  async connected(): Promise<void> {
    await nextEvent(this.socket, 'connect');
    this.id = this.socket.id;
  }

  /** Connects to another namespace, over the same connection. */
  also(nsp: string, name: string): Socket {
    const socket = this.socket.io.socket(nsp, { auth: { name } });
    open.push(socket);
    return socket;
  }

  say(): void {
    this.socket.emit('say', this.spoken++);
  }

  /** Fails if the connection ends before the answer. */
  state(): Promise<State> {
    return this.socket.emitWithAck('state') as Promise<State>;
  }
}

export const start = (env: Record<string, string> = {}) =>
  runApp('lifecycle/handover.mjs', { env: { WORKERS: '2', DRAIN_TIMEOUT: '1s', RELOAD_HOLD: '1h', ...env } });

/** Numbered names of members without options, for `connect()`. */
export const namesOf = (prefix: string, count: number): Record<string, object> =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`${prefix}${at}`, {}]));

export async function connect(app: RunningApplication, options: Record<string, object>, path = ''): Promise<Member[]> {
  const members = Object.entries(options).map(([name, given]) => new Member(app.url + path, name, given));
  await Promise.all(members.map((member) => member.connected()));
  return members;
}
