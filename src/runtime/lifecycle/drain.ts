import { setTimeout as sleep } from 'node:timers/promises';

/** Clients of one kind that a drain disconnects. */
export interface DrainGroup<T extends object> {
  /** The number of connected clients. */
  readonly size: number;
  /** The connected clients. */
  members(): Iterable<T>;
  /** Whether dismissing the client now interrupts nothing. */
  isQuiet(member: T): boolean;
  /** Asks the client to reconnect elsewhere. It may stay a member until it has received that. */
  dismiss(member: T): void;
  /** Whether the client must be dismissed at once because this worker cannot serve it any more. */
  isUrgent?(member: T): boolean;
}

export interface DrainOptions {
  groups: readonly DrainGroup<object>[];
  /** How long the drain may take, in ms. With 0 no client is dismissed. */
  over: number;
  /** Whether nothing else is in progress. */
  isIdle: () => boolean;
  /** Ends the drain early. */
  signal: AbortSignal;
}

/** The average time between two batches, in ms. */
const TURN_MS = 50;
/** The smallest batch. It makes 200 reconnections a second, which is no thundering herd. */
const SMALL_BATCH = 10;
/** After this share of the time all clients are dismissed. Clients on polling need the rest to receive it. */
const LAST_CALL = 0.8;

/**
 * Disconnects all clients, in random batches that are spread over the given time. Resolves when no client is left, or
 * when the time is up.
 */
export async function drain({ groups, over, isIdle, signal }: DrainOptions): Promise<void> {
  if (over <= 0) return;
  const start = performance.now();
  const dismissed = new WeakSet<object>();
  const presentOnes = () => shuffled(everybody(groups).filter(({ member }) => !dismissed.has(member)));
  let waiting = presentOnes();
  const batch = Math.max(SMALL_BATCH, Math.ceil(waiting.length / ((over * LAST_CALL) / TURN_MS)));

  for (let elapsed = 0; elapsed < over && !signal.aborted; elapsed = performance.now() - start) {
    const isLate = elapsed >= over * LAST_CALL;
    const busy: Client[] = [];
    const turn = isLate ? waiting.splice(0) : nextTurn(waiting, batch);
    for (const client of turn) {
      if (!isLate && !client.group.isQuiet(client.member)) {
        busy.push(client);
        continue;
      }
      dismissed.add(client.member);
      client.group.dismiss(client.member);
    }
    if (isIdle() && groups.every(({ size }) => size === 0)) return;
    // Busy clients are first in the next batch. Clients may still arrive over connections that were made before.
    waiting.unshift(...busy);
    if (waiting.length === 0) waiting = presentOnes();
    await sleep(TURN_MS * (0.5 + Math.random()), undefined, { signal }).catch(() => {});
  }
}

/** Takes a batch, and all urgent clients. */
function nextTurn(waiting: Client[], batch: number): Client[] {
  const turn = waiting.splice(0, batch);
  const isUrgent = ({ group, member }: Client) => group.isUrgent?.(member) ?? false;
  if (!waiting.some(isUrgent)) return turn;
  turn.push(...waiting.filter(isUrgent));
  const others = waiting.filter((client) => !isUrgent(client));
  waiting.splice(0, waiting.length, ...others);
  return turn;
}

interface Client {
  group: DrainGroup<object>;
  member: object;
}

function everybody(groups: DrainOptions['groups']): Client[] {
  return groups.flatMap((group) => [...group.members()].map((member: object) => ({ group, member })));
}

function shuffled<T>(values: T[]): T[] {
  for (let i = values.length - 1; i > 0; i--) {
    const j = Math.floor(Math.random() * (i + 1));
    [values[i], values[j]] = [values[j]!, values[i]!];
  }
  return values;
}
