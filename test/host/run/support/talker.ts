import { expect } from '@jest/globals';
import { io, type Socket } from 'socket.io-client';
import { nextEvent } from '../../../support/clients.js';
import { pass, until } from '../../../support/until.js';
import type { RunningApplication } from './application.js';

/** What `lifecycle/moving.mjs` knows of a client. */
export interface Told {
  visits: { pid: number; recovered: boolean }[];
  rooms: string[];
  auth: { name?: string };
  ends: string[];
  seen: string[];
}

const open: Socket[] = [];

export function disconnectTalkers(): void {
  for (const { io } of open.splice(0)) {
    // In all namespaces.
    io.reconnection(false);
    io.engine.close();
  }
}

/** Reloads an application. */
export async function reload(app: RunningApplication): Promise<void> {
  const from = app.log.length;
  app.process.kill('SIGHUP');
  await until(() => app.log.slice(from).some(({ msg }) => msg === 'reload finished'));
}

/** A client that sends numbers and gets them back, and hears those of all workers. */
export class Talker {
  readonly socket: Socket;
  readonly disconnects: string[] = [];
  /** Whether it was recovered, each time that it was connected. */
  readonly connects: boolean[] = [];
  private readonly heard = new Map<number, number[]>();
  private readonly back: number[] = [];
  private sent = 0;
  /** What was on its way when a connection ended may be lost: all numbers below this one. */
  private lost = 0;
  private isTalking = false;

  /** @param given how many numbers it sends ahead, how many characters with each, and how long it rests after one came back */
  constructor(
    url: string,
    name: string,
    options: object = {},
    private readonly given: { ahead?: number; padding?: number; restMs?: number } = {},
  ) {
    this.socket = io(url, {
      forceNew: true,
      transports: ['websocket'],
      auth: { name },
      reconnectionDelay: 50,
      ...options,
    });
    open.push(this.socket);
    this.socket.on('connect', () => {
      this.connects.push(this.socket.recovered);
      this.talk();
    });
    this.socket.on('disconnect', (reason) => {
      this.disconnects.push(reason);
      this.lost = this.sent;
    });
    this.socket.on('all', (pid: number, number: number) =>
      this.heard.set(pid, [...(this.heard.get(pid) ?? []), number]),
    );
    this.socket.on('back', (number: number) => {
      this.back.push(number);
      const { restMs } = this.given;
      if (restMs === undefined) this.talk();
      else void pass(restMs).then(() => this.talk());
    });
  }

  async begin(): Promise<this> {
    await nextEvent(this.socket, 'connect');
    this.isTalking = true;
    this.talk();
    return this;
  }

  /** Several numbers are on their way at any time. */
  private talk(): void {
    const { ahead = 3, padding = 0 } = this.given;
    const heard = Math.max(this.lost, (this.back.at(-1) ?? -1) + 1);
    while (this.isTalking && this.socket.connected && this.sent < heard + ahead)
      this.socket.emit('number', this.sent++, 'x'.repeat(padding));
  }

  tell(): Promise<Told> {
    return this.socket.emitWithAck('tell');
  }

  /** All that it has sent has come back once and in order, and it has heard all workers without a gap. */
  async expectAll(): Promise<void> {
    this.isTalking = false;
    await until(() => this.back.length === this.sent);
    expect(this.back).toEqual(this.back.map((_, index) => index));
    this.expectHeard();
  }

  /** Nothing came twice or out of order, and it has heard all workers without a gap. */
  expectHeard(): void {
    expect(this.back).toEqual([...new Set(this.back)].sort((one, other) => one - other));
    for (const numbers of this.heard.values()) expect(numbers).toEqual(numbers.map((_, index) => numbers[0]! + index));
  }

  /** The workers that have begun while it was connected have been heard from their first number on. */
  expectBeginnings(): void {
    const [, ...others] = [...this.heard.values()].filter((numbers) => numbers[0] === 1);
    expect(others.length).toBeGreaterThan(0);
  }
}
