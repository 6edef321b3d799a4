import { type StateRoom, type StateRoomOptions, stateRoom } from '../../../src/state/index.js';
import type { Hub } from '../../../src/state/replication/hub.js';
import { disconnectAll, pairOn } from '../../rooms/support/clients.js';
import { Machine, startMember, type TestNode } from '../../rooms/support/node.js';
import { View } from './view.js';

/** A worker with the room `quotes`, and what keeps it the same as the others. */
export interface HubWorker {
  readonly node: TestNode;
  readonly room: StateRoom;
  readonly hub: Hub;
}

/** Workers of one machine, in this process. */
export class HubWorkers {
  readonly all: HubWorker[] = [];
  private machine: Machine | undefined;

  async start(options: StateRoomOptions = {}): Promise<HubWorker> {
    this.machine ??= await Machine.start();
    const node = await startMember(await this.machine.openBackplane());
    const room = stateRoom(node.io, 'quotes', { event: 'quote', ...options });
    const worker = { node, room, hub: (room as unknown as { hub: Hub }).hub };
    this.all.push(worker);
    await room.ready();
    return worker;
  }

  async remove(): Promise<void> {
    disconnectAll();
    for (const { node } of this.all.splice(0)) await node.close();
    await this.machine?.remove();
    this.machine = undefined;
  }
}

/** Connects a client, which joins and has the state. */
export async function memberOf({ node, room }: HubWorker, version?: string): Promise<View> {
  const pair = await pairOn(node);
  const view = new View(pair.client, 'quote');
  room.join(pair.socket, { version });
  await view.shows(() => true);
  return view;
}

/** Has a worker receive what another program says. */
export function forgeFor({ hub }: HubWorker, message: unknown): void {
  (hub as unknown as { incoming: { receive(given: unknown): void } }).incoming.receive(message);
}
