import { own } from '../../base/owner.js';
import type { RoomKey } from '../backplanes/frames/interest/rooms.js';
import { Fences, ticksNow, Withheld } from '../backplanes/frames/interest/withheld.js';
import type { Envelope } from '../wire/envelope.js';
import { types } from '../wire/types.js';
import { RoomIndex, type RoomOwner } from './room-index.js';

/** A message that some have not got, because they had announced no members of its rooms. */
interface Kept {
  readonly keys: readonly RoomKey[];
  readonly bytes: number;
  readonly envelope: Buffer;
}

/** How a side reaches its members. */
interface SideHost<Member extends RoomOwner> {
  members(): ReadonlyMap<string, Member>;
  tell(to: Member, type: number, numbers: Iterable<number>): void;
  /** Sends a message that the member has not got. */
  give(to: Member, envelope: Envelope | Buffer): void;
  /** A time on the clock of a member; undefined if nothing that was sent to it can be late. */
  timeOf?(to: Member, time: number): number | undefined;
  /** Whether the members can be reached. */
  isUp?(): boolean;
  /** They are asked whether they have handled what was sent to them. */
  onAsked?(): void;
}

/**
 * One of the two sides of a hub: the Socket.IO servers of the workers of its machine, or the hubs of other machines. It knows the
 * rooms of its members, announces them to the other side, and hands on to them what that sends.
 */
export class Side<Member extends RoomOwner> {
  readonly rooms = new RoomIndex<Member>();
  private readonly withheld = new Withheld<Kept>(() => {});
  private readonly fences: Fences;
  private other: Pick<Side<RoomOwner>, 'announce' | 'pass'> | undefined;

  constructor(private readonly host: SideHost<Member>) {
    this.fences = new Fences((number, id) => {
      const member = host.members().get(id);
      if (member) host.tell(member, types.ping, [number]);
    });
  }

  /** Joins two sides of a hub. */
  static join<One extends RoomOwner, Other extends RoomOwner>(one: Side<One>, other: Side<Other>): void {
    one.other = other;
    other.other = one;
  }

  /** Hands a message to the members that have one of its rooms, and keeps it for those that say soon that they have had one. */
  route(envelope: Envelope, isFor: (member: Member) => boolean = () => true): void {
    const { keys } = envelope;
    const owners = this.rooms.of(keys);
    const receivers: Member[] = [];
    let missed = 0;
    for (const member of this.host.members().values()) {
      if (!isFor(member)) continue;
      // Until its rooms are known, it gets everything.
      if (member.rooms && !owners.includes(member)) missed++;
      else {
        receivers.push(member);
        this.host.give(member, envelope);
      }
    }
    if (missed === 0) return;
    // The bytes that it came in may be many.
    const copy = Buffer.from(envelope.whole);
    this.withheld.keep({ keys, bytes: copy.length, envelope: copy }, receivers, ticksNow());
  }

  /** What a member tells of its rooms, asks or answers. */
  hear(from: Member, type: number, numbers: readonly number[]): void {
    const { rooms, host, other } = this;
    const [first = 0, ...rest] = numbers;
    switch (type) {
      case types.added: {
        if (!from.rooms) return;
        const added = rooms.add(from, rest);
        for (const { envelope } of this.withheld.takeFor(from, rest, first)) host.give(from, envelope);
        return other?.announce(added, [], first);
      }
      case types.removed:
        return other?.announce([], rooms.remove(from, numbers));
      case types.rooms:
        return other?.announce(rooms.add(from, numbers), []);
      case types.ping: {
        const passed = (other?.pass() ?? Promise.resolve(true)).then(() => {
          if (host.members().get(from.id) === from) host.tell(from, types.pong, numbers);
        });
        return own('asking the other side of the hub', passed);
      }
      case types.pong:
        return this.fences.answered(from.id, first);
    }
  }

  /** A member is gone, or its rooms are not known any more. */
  forget(member: Member): void {
    this.fences.leave(member.id);
    this.other?.announce([], this.rooms.forget(member));
  }

  /**
   * Tells all members what has changed of the rooms of the other side.
   * @param since when the first of the members entered the added rooms
   */
  announce(added: readonly RoomKey[], removed: readonly RoomKey[], since = ticksNow()): void {
    if (added.length === 0 && removed.length === 0) return;
    const { host } = this;
    for (const member of host.members().values()) {
      const time = host.timeOf ? host.timeOf(member, since) : since;
      if (added.length > 0 && time === undefined) host.tell(member, types.rooms, added);
      else if (added.length > 0) host.tell(member, types.added, [time!, ...added]);
      if (removed.length > 0) host.tell(member, types.removed, removed);
    }
  }

  /**
   * Resolves when the members have handled all that was sent to them, or cannot be reached.
   * @param isBeginning whether they are asked before the side counts as up
   */
  pass(isBeginning = false): Promise<boolean> {
    const { host } = this;
    if (!isBeginning && host.isUp?.() === false) return Promise.resolve(false);
    const passed = this.fences.pass(host.members().keys());
    host.onAsked?.();
    return passed;
  }

  close(): void {
    this.fences.close();
  }
}
