import type { Socket } from 'socket.io';
import type { SocketId } from 'socket.io-adapter';
import { looksLikeSocketId } from '../../../io/rooms/index.js';
import { packetStepsOf } from '../../../io/socket-io.private.js';
import type { Expiries } from '../kept/expiries.js';
import type { Described, Removals } from '../kept/memory.js';
import type { PacketLog } from '../kept/packet-log.js';
import { type KeptSession, NO_WORKER } from '../kept/sessions.js';
import type { LiveSession, LiveSessions } from '../live-sessions.js';
import type { OffsetWriter } from '../messages.js';
import type { RecoveryHost } from '../namespace-recovery.js';
import { decodeOffset, MAX_LENGTH, NO_OFFSET, type RecoveryOutcome } from '../offset.js';
import type { Peers } from '../peers/peers.js';
import type { ForeignMessages } from './foreign.js';
import { beginningOf, type Missed, missedBy, type Returning, returningOf, roomsOf, type Size } from './missed.js';

/** What a recovery costs besides its rooms and packets, in units of work. */
const COST = 20;
/** How many kept packets can be looked at in one unit, and how many bytes can be sent besides the packet itself. */
const LOOKS_OF_UNIT = 16;
const BYTES_OF_UNIT = 4096;
/** How many characters of an offset can be read in one unit. */
const TEXT_OF_UNIT = 64;

/** The parts of a namespace that a returning client concerns. */
export interface Home {
  readonly log: PacketLog;
  readonly live: LiveSessions;
  readonly peers: Peers;
  readonly expiries: Pick<Expiries, 'failed'>;
  readonly removals: Pick<Removals, 'covers'>;
  readonly writer: OffsetWriter;
  readonly foreign: ForeignMessages;
}

/** The clients of one namespace that return, from their request to the moment at which they have what they missed. */
export class Returns {
  private readonly bySid = new Map<SocketId, Returning>();

  constructor(
    private readonly home: Home,
    private readonly host: RecoveryHost,
  ) {}

  /** What socket.io makes the socket of, or null if the client gets a new session. */
  async restore(pid: string, named: string) {
    const { gate } = this.host;
    if (named.length > MAX_LENGTH) return this.fail('offset invalid');
    if (!looksLikeSocketId(pid)) return this.fail('session unknown');
    if (!gate.enter(pid, named)) return this.fail('too many recoveries');
    try {
      return await this.find(pid, named);
    } finally {
      gate.leave(pid, named);
    }
  }

  private async find(pid: string, named: string) {
    const { peers } = this.home;
    const { turns } = this.host.gate;
    await peers.ready;
    await turns.take(COST + named.length / TEXT_OF_UNIT);
    // It is read again later, so that clients that wait take little memory.
    if (named !== NO_OFFSET && !decodeOffset(named)) return this.fail('offset invalid');
    const session = await peers.findSession(pid);
    if (!session) return this.fail('session unknown');
    await turns.take(session.rooms.length);
    const failure = await this.prepare(session, named === NO_OFFSET ? beginningOf(session) : named);
    if (failure) {
      session.direct.release();
      this.home.expiries.failed(session);
      return this.fail(failure);
    }
    const { sid, rooms, data } = session;
    return { pid, sid, rooms: [...rooms], data, missedPackets: [] };
  }

  /** @returns why the session cannot be recovered, if so */
  private async prepare(session: KeptSession, resumedFrom: string): Promise<RecoveryOutcome | undefined> {
    const { log } = this.home;
    if (session.worker === NO_WORKER || session.rooms.length > this.host.bounds.maxRooms) return 'too many rooms';
    const returning = returningOf(session, decodeOffset(resumedFrom)!, resumedFrom);
    if (!returning) return 'packets missing';
    if (!(await log.reached(returning.offset))) return 'worker behind';
    await log.prepare(returning.offset, roomsOf(session));
    const { gate } = this.host;
    await gate.turns.take(log.countAfter(returning.offset) / LOOKS_OF_UNIT);
    // The packets themselves are looked up again later, so that clients that wait take little memory.
    const size = this.sizeOfMissed(returning);
    if (typeof size === 'string') return size;
    if (!gate.mayReplay(size)) return 'too much replayed';
    await gate.turns.take(size.packets + size.bytes / BYTES_OF_UNIT);
    if (this.home.removals.covers(session)) return 'session unknown';
    this.bySid.set(session.sid, returning);
    return undefined;
  }

  private missed(returning: Returning): Missed[] | RecoveryOutcome {
    const { maxMissed, maxMissedBytes } = this.host.bounds;
    const missed = missedBy(returning, this.home.log, this.home.foreign, this.host.slackMs);
    if (!missed) return 'packets missing';
    return missed.length > maxMissed || bytesOf(missed) > maxMissedBytes ? 'too much missed' : missed;
  }

  private sizeOfMissed(returning: Returning): Size | RecoveryOutcome {
    const missed = this.missed(returning);
    return typeof missed === 'string' ? missed : { packets: missed.length, bytes: bytesOf(missed) };
  }

  /** The client gets a new session. */
  private fail(outcome: RecoveryOutcome): null {
    this.host.count(outcome);
    return null;
  }

  /** The socket of a client that returns, or whose connection has ended before that. */
  take(sid: SocketId): Returning | undefined {
    const returning = this.bySid.get(sid);
    this.bySid.delete(sid);
    return returning;
  }

  /** The sockets of those of these clients that have been found, but are not connected yet. */
  named(matches: (session: Described) => boolean): string[] {
    return [...this.bySid].filter(([, { session }]) => matches(session)).map(([sid]) => sid);
  }

  /** Whether the operator has ended the session meanwhile. Its client then gets a new one. */
  isRemoved({ session }: Returning): boolean {
    if (!this.home.removals.covers(session)) return false;
    session.direct.release();
    this.home.expiries.failed(session);
    this.fail('session unknown');
    return true;
  }

  /**
   * The socket is connected, but the client does not know that yet. What it lacks is sent now, in one go: everything
   * that comes later reaches it through its rooms.
   */
  complete(socket: Socket, session: LiveSession, returning: Returning): void {
    const missed = this.missed(returning);
    returning.session.direct.release();
    // A bound has cut what was complete before the middleware ran. The client connects again, and gets a new session.
    if (typeof missed === 'string') {
      this.host.count(missed);
      return void setImmediate(() => socket.conn.close(true));
    }
    this.host.count('recovered');
    this.replay(session, returning, missed);
  }

  private replay(session: LiveSession, { offset }: Returning, missed: readonly Missed[]): void {
    const { log, live, writer } = this.home;
    const senders = log.known(offset.senders);
    const replayed = missed.map(({ sender, packet }) => {
      if (sender === undefined) {
        live.keep(session, { ...packet, number: ++log.direct });
      } else senders.set(sender, packet.number);
      return writer.withOffset(packet.packets, log.offsetOf(packet.at, senders));
    });
    // From its first packet on, the client has offsets of this worker, and the buddy's copy is that of the worker before.
    live.flush();
    this.host.flush();
    // A client keeps what arrives before the CONNECT packet. If its connection ended in between, it would get that again.
    (session.socket.conn as unknown as { sendTogether?(): void }).sendTogether?.();
    const { client } = packetStepsOf(session.socket);
    for (const encoded of replayed) client.writeToEngine(encoded, { preEncoded: true });
  }
}

function bytesOf(missed: readonly Missed[]): number {
  let bytes = 0;
  for (const { packet } of missed) for (const part of packet.packets) bytes += part.length;
  return bytes;
}
