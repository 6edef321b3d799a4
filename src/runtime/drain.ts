import { setTimeout as sleep } from 'node:timers/promises';

/** Clients of one kind that are to go elsewhere. */
export interface DrainGroup<T extends object> {
  /** How many are there now. */
  readonly size: number;
  /** Those who are there now. */
  members(): Iterable<T>;
  /** Whether it can be dismissed to go without breaking off what is under way with it. */
  isQuiet(member: T): boolean;
  /** Tells it to go. It may stay a member until it has heard. */
  dismiss(member: T): void;
  /** Whether it is dismissed at once: it cannot be served any more. */
  isUrgent?(member: T): boolean;
}

export interface DrainOptions {
  // biome-ignore lint/suspicious/noExplicitAny: a list of groups of different kinds
  groups: readonly DrainGroup<any>[];
  /** How long it may take, in ms; 0 tells nobody. */
  over: number;
  /** Whether nothing else is under way. */
  isIdle: () => boolean;
  /** Ends it early. */
  signal: AbortSignal;
}

/** A batch is dismissed in each turn, so many ms on average after the one before. */
const TURN_MS = 50;
/** So few in a turn are no herd: 200 a second. */
const SMALL_BATCH = 10;
/** From this part of the time on everybody is dismissed, and the rest is for those who have to ask to hear it. */
const LAST_CALL = 0.8;

/**
 * Tells everybody to go elsewhere, in batches that are spread over the time, each of whom chance picks. Resolves when
 * nobody is there any more, or when the time is up.
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
    // Those who were busy come first; some may still come over connections that were made before.
    waiting.unshift(...busy);
    if (waiting.length === 0) waiting = presentOnes();
    await sleep(TURN_MS * (0.5 + Math.random()), undefined, { signal }).catch(() => {});
  }
}

/** Takes those who cannot wait, and a batch of the others. */
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
