import { Keeper } from '../../src/features/recovery/keeper/keeper.js';
import type { Durables } from './durable.js';
import type { Machine, Worker } from './machine.js';
import { Violation } from './model.js';
import type { Presences } from './presence.js';
import type { Process } from './scheduler.js';

/** The parts of a keeper that no figure counts. */
interface Spaces {
  readonly spaces?: ReadonlyMap<string, Record<'live' | 'taken' | 'away', { readonly size: number }>>;
}

/** The keepers that have been told something, with the hub that each is in. */
let keepers = new Map<Spaces, Process>();
let running: () => Process;
const { onMessage } = Keeper.prototype;
Keeper.prototype.onMessage = function (...message) {
  keepers.set(this as unknown as Spaces, running());
  return onMessage.apply(this, message);
};

/** @param of says which process has its turn */
export function watchKeepers(of: () => Process): void {
  keepers = new Map();
  running = of;
}

/** The timers that a worker or a hub has while it does nothing. */
const MAX_TIMERS = 4;
/** What durable rooms add to it. */
const DURABLE_TIMERS = 3;

/** What durable rooms have in progress, which no figure counts. */
interface Conversations {
  readonly followed: { readonly size: number };
  readonly starting: { readonly size: number };
  readonly budget: { readonly total: number };
}

/** Once all clients have left for good, nothing is left of them. */
export function checkLeftovers(machines: readonly Machine[], durables?: Durables, presences?: Presences): void {
  none('rooms with users', presences?.count ?? 0);
  for (const [, rooms] of durables?.isOpenThere ?? []) {
    const { followed, starting, budget } = (rooms as unknown as { conversations: Conversations }).conversations;
    none('durable rooms', followed.size + starting.size);
    none('bytes for the store', budget.total);
  }
  for (const [{ spaces }, { isAlive }] of keepers) {
    if (!isAlive) continue;
    for (const space of spaces?.values() ?? [])
      for (const kind of ['live', 'taken', 'away'] as const) none(`${kind} sessions`, space[kind].size);
  }
  for (const machine of machines) {
    none('timers of a hub', Math.max(0, machine.hub!.process.timers.size - MAX_TIMERS));
    for (const worker of machine.workers.values()) checkWorker(worker, MAX_TIMERS + (durables ? DURABLE_TIMERS : 0));
  }
}

function checkWorker({ io, bus, process }: Worker, maxTimers: number): void {
  const { rooms, sids } = io!.of('/').adapter;
  none('rooms', rooms.size);
  none('sockets', sids.size);
  const { bytes, packets, sessions } = bus!.recovery!;
  none('kept packets', packets);
  none('kept sessions', sessions);
  none('kept bytes', bytes.packets + bytes.sessions);
  none('timers of a worker', Math.max(0, process.timers.size - maxTimers));
}

function none(what: string, count: number): void {
  if (count > 0) throw new Violation('left over', `${count} ${what}`);
}
