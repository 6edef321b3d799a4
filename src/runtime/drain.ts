import { setTimeout as sleep } from 'node:timers/promises';

/** Clients of one kind that are to go elsewhere. */
export interface Crowd<T extends object> {
  /** How many are there now. */
  readonly size: number;
  /** Those who are there now. */
  members(): Iterable<T>;
  /** Whether it can be told to go without breaking off what is under way with it. */
  isQuiet(member: T): boolean;
  /** Tells it to go. It may stay a member until it has heard. */
  tell(member: T): void;
  /** Whether it is told at once: it cannot be served any more. */
  isUrgent?(member: T): boolean;
}

export interface DrainOptions {
  // biome-ignore lint/suspicious/noExplicitAny: a list of crowds of different kinds
  crowds: readonly Crowd<any>[];
  /** How long it may take, in ms; 0 tells nobody. */
  over: number;
  /** Whether nothing else is under way. */
  isIdle: () => boolean;
  /** Ends it early. */
  signal: AbortSignal;
}

/** A batch is told in each turn, so many ms on average after the one before. */
const TURN = 50;
/** So few in a turn are no herd: 200 a second. */
const SMALL_BATCH = 10;
/** From this part of the time on everybody is told, and the rest is for those who have to ask to hear it. */
const LAST_CALL = 0.8;

/**
 * Tells everybody to go elsewhere, in batches that are spread over the time, each of whom chance picks. Resolves when
 * nobody is there any more, or when the time is up.
 */
export async function drain({ crowds, over, isIdle, signal }: DrainOptions): Promise<void> {
  if (over <= 0) return;
  const start = performance.now();
  const told = new WeakSet<object>();
  const presentOnes = () => shuffled(everybody(crowds).filter(({ member }) => !told.has(member)));
  let waiting = presentOnes();
  const batch = Math.max(SMALL_BATCH, Math.ceil(waiting.length / ((over * LAST_CALL) / TURN)));

  for (let elapsed = 0; elapsed < over && !signal.aborted; elapsed = performance.now() - start) {
    const isLate = elapsed >= over * LAST_CALL;
    const busy: Client[] = [];
    const turn = isLate ? waiting.splice(0) : takeTurn(waiting, batch);
    for (const client of turn) {
      if (!isLate && !client.crowd.isQuiet(client.member)) {
        busy.push(client);
        continue;
      }
      told.add(client.member);
      client.crowd.tell(client.member);
    }
    if (isIdle() && crowds.every(({ size }) => size === 0)) return;
    // Those who were busy come first; some may still come over connections that were made before.
    waiting.unshift(...busy);
    if (waiting.length === 0) waiting = presentOnes();
    await sleep(TURN * (0.5 + Math.random()), undefined, { signal }).catch(() => {});
  }
}

/** Takes those who cannot wait, and a batch of the others. */
function takeTurn(waiting: Client[], batch: number): Client[] {
  const turn = waiting.splice(0, batch);
  const isUrgent = ({ crowd, member }: Client) => crowd.isUrgent?.(member) ?? false;
  if (!waiting.some(isUrgent)) return turn;
  turn.push(...waiting.filter(isUrgent));
  const others = waiting.filter((client) => !isUrgent(client));
  waiting.splice(0, waiting.length, ...others);
  return turn;
}

interface Client {
  crowd: Crowd<object>;
  member: object;
}

function everybody(crowds: DrainOptions['crowds']): Client[] {
  return crowds.flatMap((crowd) => [...crowd.members()].map((member: object) => ({ crowd, member })));
}

function shuffled<T>(values: T[]): T[] {
  for (let i = values.length - 1; i > 0; i--) {
    const j = Math.floor(Math.random() * (i + 1));
    [values[i], values[j]] = [values[j]!, values[i]!];
  }
  return values;
}
