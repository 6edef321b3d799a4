/** What a worker tells the others of its machine about itself. */
export interface WorkerState {
  /** Whether it gets the frames from the machine's channel itself; otherwise it needs the gateway. */
  readonly isReading: boolean;
  /** Whether it can be the gateway: it is connected and will not end soon. */
  readonly isCandidate: boolean;
}

/** A worker of this machine. */
export interface Mate extends WorkerState {
  readonly id: number;
}

/** How many workers of a machine stay subscribed to its channel: the gateway and its deputy. */
const READERS = 2;

/** Candidates come first, then the lower number. */
const isBefore = (one: Mate, other: Mate): boolean =>
  one.isCandidate === other.isCandidate ? one.id < other.id : one.isCandidate;

/** The gateway and its deputy, as far as there are any: the first two workers that read the channel. */
export function rolesAmong(workers: Iterable<Mate>): { gateway?: number | undefined; deputy?: number | undefined } {
  const [gateway, deputy] = [...workers].filter(({ isReading }) => isReading).sort((a, b) => (isBefore(a, b) ? -1 : 1));
  return { gateway: gateway?.id, deputy: deputy?.id };
}

/** Whether a worker that reads the channel may stop: two candidates before it read it, too. */
export function mayStop(self: Mate, others: Iterable<Mate>): boolean {
  let readers = 0;
  for (const other of others) if (other.isCandidate && other.isReading && isBefore(other, self)) readers++;
  return readers >= READERS;
}

/** Whether a worker that does not read the channel should begin: it is next, or there is no gateway. */
export function shouldBegin(self: Mate, others: readonly Mate[]): boolean {
  if (!others.some(({ isReading }) => isReading)) return true;
  return self.isCandidate && others.filter((other) => other.isCandidate && isBefore(other, self)).length < READERS;
}
