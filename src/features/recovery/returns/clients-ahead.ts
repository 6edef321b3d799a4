import type { Socket } from 'socket.io';
import type { SocketId } from 'socket.io-adapter';
import { machineTime } from '../../../base/clock.js';
import type { Mark } from '../keeper/stream.js';
import type { Offset } from '../offset.js';
import { VersionVector } from '../version-vector.js';

/** How many are noted of all clients together, and of one. Clients may make them up. */
const MAX_LEADS = 50_000;
const MAX_OF_CLIENT = 64;
/** The longest offset of a client with a new session that is read, in characters: that of about 300 workers. */
const MAX_TEXT = 4096;
/** A broadcast that was sent so long after the last one that a client has received, it cannot have, in ms. */
const MAX_SLACK_MS = 2000;
/** A broadcast that comes later than that does not come at all, in ms. */
const MAX_DELAY_MS = 10_000;

/** What a client has received and this worker has not, by sender. */
interface Lead {
  readonly numbers: VersionVector;
  /** The client has received nothing that was sent later. */
  readonly until: number;
  /** Since when the client is connected. */
  readonly since: number;
}

/** What the client of a new session says that it has received in the session before. */
export function namedBefore({ handshake }: Socket): string | undefined {
  const { offset } = (handshake.auth ?? {}) as { offset?: unknown };
  return typeof offset === 'string' && offset.length <= MAX_TEXT ? offset : undefined;
}

/**
 * Connected sockets whose clients have received broadcasts that this worker has not: their former worker got them first.
 * They are not to get these again, whether their session is recovered or new. The offset of the client tells what it has.
 */
export class ClientsAhead {
  /** The oldest first. */
  private readonly clients = new Map<SocketId, Lead>();
  private readonly bySender = new Map<string, Set<SocketId>>();
  /** How many broadcasts are noted. */
  size = 0;

  /**
   * @param at when the last packet was sent that the client says to have received; undefined if keepers know its numbers
   * @param lastOf the number of the last broadcast of a sender that this worker has received
   * @returns what is noted
   */
  add(
    sid: SocketId,
    { senders, at }: Pick<Offset, 'senders'> & { readonly at: number | undefined },
    lastOf: (sender: string) => number,
  ): VersionVector | undefined {
    const numbers = new VersionVector([...senders.beyond({ of: lastOf })].slice(0, MAX_OF_CLIENT));
    if (numbers.size === 0) return undefined;
    const until = at === undefined ? Number.POSITIVE_INFINITY : Math.min(at, machineTime()) + MAX_SLACK_MS;
    this.clients.set(sid, { numbers, until, since: machineTime() });
    for (const [sender] of numbers) {
      const sids = this.bySender.get(sender) ?? new Set();
      this.bySender.set(sender, sids.add(sid));
    }
    this.size += numbers.size;
    while (this.size > MAX_LEADS) this.remove(this.clients.keys().next().value!);
    return new VersionVector(numbers);
  }

  /** This worker delivers a broadcast now. Returns the sockets whose clients have received it. */
  having([sender, number, at]: Mark): SocketId[] {
    const having: SocketId[] = [];
    for (const sid of this.bySender.get(sender) ?? []) {
      const { numbers, until } = this.clients.get(sid)!;
      const last = numbers.of(sender);
      if (number <= last && at <= until) having.push(sid);
      if (number >= last || at > until) this.forget(sid, sender);
    }
    return having;
  }

  remove(sid: SocketId): void {
    for (const [sender] of [...(this.clients.get(sid)?.numbers ?? [])]) this.forget(sid, sender);
  }

  sweep(): void {
    const oldest = machineTime() - MAX_DELAY_MS;
    for (const [sid, { since }] of this.clients) {
      if (since >= oldest) return;
      this.remove(sid);
    }
  }

  private forget(sid: SocketId, sender: string): void {
    const sids = this.bySender.get(sender)!;
    sids.delete(sid);
    if (sids.size === 0) this.bySender.delete(sender);
    const { numbers } = this.clients.get(sid)!;
    numbers.forget(sender);
    this.size--;
    if (numbers.size === 0) this.clients.delete(sid);
  }
}
