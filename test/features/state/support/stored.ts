import { Redis } from 'ioredis';
import type { StateRoom, StateRoomOptions } from '../../../../src/features/state/index.js';
import { Machine, startMember, type TestNode } from '../../../io/rooms/support/node.js';
import { roomOn } from './room-on.js';

/** Workers of one machine with the stored room `quotes`, which can all end. */
export class StoredWorkers {
  readonly workers: { node: TestNode; room: StateRoom }[] = [];
  private machine: Machine | undefined;

  constructor(private readonly options: StateRoomOptions) {}

  /** Starts one more, which has what the others and the store have. */
  async start(options: StateRoomOptions = {}): Promise<{ node: TestNode; room: StateRoom }> {
    const worker = await this.open(options);
    await worker.room.ready();
    return worker;
  }

  /** Starts one more, which may not have anything yet. */
  async open(options: StateRoomOptions = {}): Promise<{ node: TestNode; room: StateRoom }> {
    if (!this.machine) {
      this.machine = await Machine.start();
      await this.machine.startHub('machine0');
    }
    const node = await startMember(await this.machine.openBackplane());
    const room = roomOn(node, 'quotes', { event: 'quote', store: 'redis', ...this.options, ...options });
    const worker = { node, room };
    this.workers.push(worker);
    return worker;
  }

  async stopAll(): Promise<void> {
    for (const { node, room } of this.workers.splice(0)) {
      room.close();
      await node.close();
    }
    await this.machine?.remove();
    this.machine = undefined;
  }
}

export const stateOf = (room: StateRoom) => Object.fromEntries([...room.entries()].sort());

/** What Redis has of the room, as `[key, value]`. */
export async function storedIn(url: string, key = 'gjallar:{state:%2F:quotes}'): Promise<Record<string, string>> {
  const redis = new Redis(url);
  try {
    const fields = await redis.hgetall(key);
    const values = Object.entries(fields).filter(([name]) => name.startsWith('v'));
    return Object.fromEntries(values.map(([name, value]) => [name.slice(1), value]).sort());
  } finally {
    redis.disconnect();
  }
}
