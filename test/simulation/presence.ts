import type { Socket } from 'socket.io';
import { createPresence, type Presence } from '../../src/features/presence/index.js';
import type { Worker } from './machine.js';
import { Violation } from './model.js';

/** Who is in the rooms, as each worker says it. */
export class Presences {
  private readonly all = new Map<string, { readonly worker: Worker; readonly presence: Presence }>();
  /** By worker and room, what was there when the last change was told. */
  private readonly told = new Map<string, string>();

  open(worker: Worker): void {
    const { io, name, process } = worker;
    const presence = createPresence(io!, { isRoom: (room) => room.startsWith('room') });
    this.all.set(name, { worker, presence });
    process.onEnd.push(() => this.all.delete(name));
    presence.on('change', (room) => this.told.set(`${name} ${room}`, usersOf(presence, room)));
  }

  track({ name }: Worker, socket: Socket, client: string): void {
    this.all.get(name)!.presence.track(socket, client);
  }

  /** After quiet: all know the same, and have been told of it. */
  complete(): void {
    const present = new Map<string, Set<string>>();
    for (const { worker } of this.all.values()) {
      for (const { rooms, handshake } of worker.io!.of('/').sockets.values()) {
        for (const room of rooms) {
          const { name } = handshake.auth as { name: string };
          if (room.startsWith('room')) present.set(room, (present.get(room) ?? new Set()).add(name));
        }
      }
    }
    for (const [name, { presence }] of this.all) {
      const rooms = new Set([...present.keys(), ...presence.rooms()]);
      for (const room of rooms) {
        const found = usersOf(presence, room);
        const real = [...(present.get(room) ?? [])].sort().join();
        if (found !== real) throw new Violation('presence', `${name} has ${found} in ${room}, and not ${real}`);
        const told = this.told.get(`${name} ${room}`) ?? '';
        if (told !== real)
          throw new Violation('presence', `${name} was told of ${told} in ${room}, and not of ${real}`);
      }
    }
  }

  /** @returns how many rooms with users there are on all workers */
  get count(): number {
    return [...this.all.values()].reduce((sum, { presence }) => sum + presence.rooms().size, 0);
  }
}

const usersOf = (presence: Presence, room: string): string => [...presence.usersOf(room).users.keys()].sort().join();
