/** How far a message has to go from the worker that sends it; a farther worker includes the nearer ones. */
export const reaches = ['worker', 'machine', 'machines'] as const;
export type Reach = (typeof reaches)[number];

/** The broadcasts that a worker has sent, by their reach. */
export class ReachCounts {
  /** Messages to rooms. Placement shortens their way. */
  readonly room: Record<Reach, number> = { worker: 0, machine: 0, machines: 0 };
  /** Messages that go to all workers wherever their receivers are. */
  readonly all: Record<Reach, number> = { worker: 0, machine: 0, machines: 0 };
}

/** The reach of a message that goes to these workers. */
export function reachOf(receivers: readonly { readonly isElsewhere: boolean }[]): Reach {
  for (const { isElsewhere } of receivers) if (isElsewhere) return 'machines';
  return receivers.length > 0 ? 'machine' : 'worker';
}
