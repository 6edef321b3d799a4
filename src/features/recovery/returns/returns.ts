import type { Socket } from 'socket.io';
import type { SocketId } from 'socket.io-adapter';
import { clearTimeout, setImmediate, setTimeout } from '../../../base/clock.js';
import { NO_ROOM, roomsNamed } from '../../../base/names.js';
import { packetStepsOf } from '../../../io/socket-io.private.js';
import { FloorCheck } from '../keeper/memory.js';
import { roomsFor } from '../keeper/packets-by-room.js';
import type { LiveSession } from '../live-sessions.js';
import { bytesOfMissed, type Found, type Missed, type SessionState } from '../messages.js';
import { isArriving, noteArrival } from '../moves.js';
import type { NamespaceRecovery } from '../namespace-recovery.js';
import { decodeOffset, MAX_LENGTH, mayBeId, NO_OFFSET, type RecoveryOutcome } from '../offset.js';
import { VersionVector } from '../version-vector.js';

/** What a recovery costs besides its rooms and packets, in units of work. */
const COST = 20;
/** How many bytes can be sent in one unit besides the packet itself. */
const BYTES_OF_UNIT = 4096;
/** How many characters of an offset can be read in one unit. */
const TEXT_OF_UNIT = 64;

/** For how long a client is prepared for that does not come, in ms. */
const PREPARED_MS = 10_000;

/** socket.io passes each of them to `join()`, which takes an array for several rooms. */
function roomsToJoin(names: readonly string[]): unknown[] {
  const rooms: unknown[] = roomsNamed(names).filter((room) => room !== NO_ROOM);
  return rooms.map((room) => (Array.isArray(room) ? [room] : room));
}

/** A client whose session was found. */
export interface Returning extends Extract<Found, { session: SessionState }> {
  /** Where it has begun among the packets that this worker delivers. */
  readonly begun: number;
  /** The offset that was named for it. */
  readonly named: string;
  readonly bus: NamespaceRecovery['bus'];
  /** Whether all workers are known to send messages to its id here, too. One that was busy may send some afterwards. */
  readonly isKnown: boolean;
}

/** An adapter whose messages to an id reach the worker that it names, and those that have announced it. */
export interface AdapterOfIds {
  /** Announces an id, unless messages to it come here or to all workers anyway. */
  announceId?(id: SocketId): { readonly known: Promise<boolean>; end(): void } | undefined;
}

/** The clients of one namespace that return, from their request to the moment at which they have what they missed. */
export class Returns {
  private readonly bySid = new Map<SocketId, Returning>();
  /** Those whose ids are announced, by the secret of the client, with whether all workers have heard it. */
  private readonly expected = new Map<string, { isKnown: boolean; end(): void }>();

  /** Those of them that come from another worker soon, and not by themselves. */
  private readonly prepared = new Map<string, NodeJS.Timeout>();

  constructor(private readonly namespace: NamespaceRecovery) {}

  /** Resolves when the messages to an id come to this worker, too. */
  async expect(pid: string, sid: SocketId): Promise<void> {
    const { adapter } = this.namespace as { adapter: AdapterOfIds };
    const announced = adapter.announceId?.(sid);
    if (!announced) return;
    this.forget(pid);
    const expected = { isKnown: false, end: announced.end };
    this.expected.set(pid, expected);
    expected.isKnown = await announced.known;
  }

  /** The same for a client that is about to come from another worker, for a time. */
  async prepare(pid: string, sid: SocketId): Promise<void> {
    await this.expect(pid, sid);
    this.isPrepared(pid);
    // It may have returned by itself meanwhile.
    if (!this.expected.has(pid)) return;
    this.prepared.set(pid, setTimeout(() => this.isPrepared(pid) && this.forget(pid), PREPARED_MS).unref());
  }

  /** Whether a client was prepared for. From then on, it is one that returns. */
  private isPrepared(pid: string): boolean {
    clearTimeout(this.prepared.get(pid));
    return this.prepared.delete(pid);
  }

  private forget(pid: string): void {
    this.expected.get(pid)?.end();
    this.expected.delete(pid);
  }

  /** What socket.io makes the socket of, or null if the client gets a new session. */
  async restore(pid: string, named: string) {
    const restored = await this.tryToRestore(pid, named);
    if (!restored) noteArrival(pid, false);
    return restored;
  }

  private async tryToRestore(pid: string, named: string) {
    const { gate, numbers } = this.namespace;
    if (named.length > MAX_LENGTH) return this.fail('offset invalid');
    if (!mayBeId(pid)) return this.fail('session unknown');
    if (!gate.enter(pid, named)) return this.fail('too many recoveries');
    const begun = numbers.recent.begin();
    const { bus } = this.namespace;
    try {
      const returning = await this.find(pid, { named, begun, bus });
      if (typeof returning === 'string') {
        this.forget(pid);
        numbers.recent.end(begun);
        return this.fail(returning);
      }
      const { sid, rooms, data } = returning.session;
      this.bySid.set(sid, returning);
      return { pid, sid, rooms: roomsToJoin(rooms), data: this.namespace.unpack(data), missedPackets: [] };
    } finally {
      gate.leave(pid, named);
    }
  }

  private async find(
    pid: string,
    start: Pick<Returning, 'begun' | 'named' | 'bus'>,
  ): Promise<Returning | RecoveryOutcome> {
    const { gate } = this.namespace;
    const { named } = start;
    await gate.turns.take(COST + named.length / TEXT_OF_UNIT);
    if (named !== NO_OFFSET && !decodeOffset(named)) return 'offset invalid';
    const found = await this.namespace.find(pid, named, this.isPrepared(pid) && this.expected.has(pid));
    if (!found) return 'session unknown';
    if (found.outcome !== undefined) return found.outcome;
    const { session, missed } = found;
    const bytes = bytesOfMissed(missed) + session.rooms.reduce((sum, room) => sum + room.length, 0);
    await gate.turns.take(session.rooms.length + missed.length + bytes / BYTES_OF_UNIT);
    const returning = { ...found, ...start, isKnown: this.expected.get(pid)?.isKnown ?? true };
    if (this.later(returning)) return returning;
    this.lose(pid);
    return 'packets missing';
  }

  /** The client gets a new session; one that was about to move returns by itself, and tries again. */
  private lose(pid: string): void {
    this.namespace.post({ type: isArriving(pid) ? 'away' : 'failed', pid });
  }

  /** The client gets a new session. */
  private fail(outcome: RecoveryOutcome): null {
    this.namespace.count(outcome);
    return null;
  }

  /** The socket of a client that returns is connected. */
  take(sid: SocketId): Returning | undefined {
    const returning = this.bySid.get(sid);
    this.bySid.delete(sid);
    // It has entered its room, or never will.
    if (returning) this.forget(returning.session.pid);
    return returning;
  }

  /** A middleware has rejected the client, or it has left before it was connected. It may try again. */
  leave(sid: SocketId): void {
    const returning = this.take(sid);
    if (!returning) return;
    this.namespace.numbers.recent.end(returning.begun);
    this.namespace.post({ type: 'away', pid: returning.session.pid });
    noteArrival(returning.session.pid, false);
  }

  /** The sockets of those of these clients that have been found, but are not connected yet. */
  named(matches: (session: SessionState) => boolean): string[] {
    return [...this.bySid].filter(([, { session }]) => matches(session)).map(([sid]) => sid);
  }

  /** The operator has ended the session meanwhile. Its client gets a new one. */
  refuse(socket: Socket, returning: Returning): void {
    this.namespace.numbers.recent.end(returning.begun);
    this.close(socket, returning, 'session unknown');
  }

  private close(socket: Socket, { session }: Returning, outcome: RecoveryOutcome): void {
    this.lose(session.pid);
    this.namespace.count(outcome);
    noteArrival(session.pid, false);
    setImmediate(() => socket.conn.close(true));
  }

  /**
   * The socket is connected, but the client does not know that yet. What it lacks is sent now, in one go: everything
   * that comes later reaches it through its rooms.
   * @param live adds the session
   */
  complete(socket: Socket, returning: Returning, live: () => LiveSession): void {
    const missed = this.missed(returning);
    this.namespace.numbers.recent.end(returning.begun);
    // So much was delivered while its middleware ran, or the bus was down. The client connects again, and gets a new session.
    if (!missed) return this.close(socket, returning, 'packets missing');
    this.namespace.count('recovered');
    this.replay(live(), returning, missed);
    noteArrival(returning.session.pid, true);
  }

  /** What this worker has delivered since, and the keepers did not have; undefined if something may be missing. */
  private later({ upTo, session, begun, bus }: Returning) {
    const recent = this.namespace.numbers.recent.since(begun);
    // What another machine has sent since its keeper was asked may be lost.
    if (!recent || !bus.isUp || bus !== this.namespace.bus) return undefined;
    const known = VersionVector.union(VersionVector.parse(upTo), VersionVector.parse(session.alsoReceived));
    const later = recent.filter(({ sender, number }) => number > known.of(sender));
    // Some of what was lost before it was sent after the keepers were asked.
    return later.some(({ sender, missing }) => missing > known.of(sender)) ? undefined : later;
  }

  /** What the keepers had, and what this worker has delivered since; undefined if something may be missing. */
  private missed(returning: Returning): Missed[] | undefined {
    const { missed, session } = returning;
    const rooms = new Set(session.rooms);
    // What is delivered while a client returns was sent after it had joined.
    const floors = new FloorCheck(session.floors, () => true);
    const later = this.later(returning)?.filter((packet) => {
      const joined = roomsFor(packet, rooms);
      return joined && floors.isAbove(joined, packet.sender, packet);
    });
    // One to an id comes another way than one to all, and may be overtaken.
    later?.sort((one, other) => one.at - other.at);
    return (
      later && [...missed, ...later.map(({ sender, number, at, packets }): Missed => [sender, number, at, packets])]
    );
  }

  private replay(session: LiveSession, { resumedFrom, upTo }: Returning, missed: readonly Missed[]): void {
    const { numbers, live, writer } = this.namespace;
    const ofKeepers = VersionVector.parse(upTo);
    const named = decodeOffset(resumedFrom)!.senders;
    const senders = named.filter((sender) => ofKeepers.knows(sender) || numbers.lastOf(sender) > 0);
    const sent = isArriving(session.pid) ? VersionVector.union(named, ofKeepers) : ofKeepers;
    const unknown = sent.beyond({ of: (sender) => numbers.lastOf(sender) });
    const direct = numbers.direct + missed.filter(([sender]) => sender === undefined).length;
    if (unknown.size > 0) session.replayed = { numbers: `${unknown}`, direct };
    const replayed = missed.map(([sender, number, at, packets]) => {
      if (sender === undefined) live.sent(session, { number: numbers.nextDirect(), at, packets });
      else senders.raise(sender, number);
      return writer.withOffset(packets, numbers.offsetOf(at, senders));
    });
    // Offsets of later packets have a higher number.
    if (session.replayed) numbers.nextDirect();
    // From its first packet on, the client has offsets of this worker, and the keeper's copy is that of the worker before.
    const conn = session.socket.conn as unknown as { sendTogether?(): void };
    live.introduceOne(session);
    // Clients of one turn share a message to the keeper, which leaves before what is sent to them together.
    if (conn.sendTogether) this.namespace.hurry();
    else this.namespace.flush();
    // A client keeps what arrives before the CONNECT packet. If its connection ended in between, it would get that again.
    conn.sendTogether?.();
    const { client } = packetStepsOf(session.socket);
    const options = { preEncoded: true };
    for (const encoded of replayed) client.writeToEngine(encoded, options);
  }
}
