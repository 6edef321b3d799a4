import { MalformedMessage } from '../../base/errors.js';
import { MACHINE } from '../backplanes/frames/hub/entries.js';
import type { RoomKey } from '../backplanes/frames/interest/rooms.js';

/**
 * What the hubs of different machines exchange.
 *
 * ```
 * frame, on the channel of a hub:
 *   version (1) │ type (1) │ hub (8) │ machine (8) │ life (4) │ series (4) │ number (4) │ time (4) │ entries
 * greeting, on the channel of all:
 *   2 (1) │ version (1) │ hub (8) │ machine (8) │ life (4)
 * ```
 * Integers are little endian. A hub takes a new life whenever messages may have been lost. The frames of a series are numbered
 * from 0.
 */
export const frameTypes = {
  frame: 0,
  /** A frame of the receiver's series is missing. Its series is that of the receiver. */
  reset: 1,
  /** The sender ends. */
  bye: 2,
} as const;
export type FrameType = (typeof frameTypes)[keyof typeof frameTypes];

export const HUB_VERSION = 1;
/** The first byte of a greeting. Emitters and workers of other wires begin what they say on the same channel with others. */
const GREETING = 2;
const HEAD = 2 + 2 * MACHINE + 16;
const GREETING_LENGTH = 2 + 2 * MACHINE + 4;

/** A hub as it names itself. */
export interface HubName {
  /** 8 random characters. */
  readonly hub: string;
  /** The id of its machine. */
  readonly machine: string;
  readonly life: number;
}

export interface HubFrame extends HubName {
  readonly type: FrameType;
  readonly series: number;
  readonly number: number;
  /** In ticks, on the clock of the sender. */
  readonly time: number;
}

/** Where the entries of a frame begin. */
export const ENTRIES = HEAD;

export function frameHead({ type, hub, machine, life, series, number, time }: HubFrame): Buffer {
  const head = Buffer.allocUnsafe(HEAD);
  head[0] = HUB_VERSION;
  head[1] = type;
  let at = writeName(head, hub, machine);
  for (const value of [life, series, number]) at = head.writeUInt32LE(value, at);
  head.writeInt32LE(time, at);
  return head;
}

/** @throws MalformedMessage */
export function openHubFrame(bytes: Buffer): HubFrame {
  if (bytes.length < HEAD) throw new MalformedMessage('a frame of a hub is too short');
  checkVersion(bytes[0]);
  const type = bytes[1] as FrameType;
  if (type > frameTypes.bye) throw new MalformedMessage('a frame of a hub has an unknown type');
  const at = 2 + 2 * MACHINE;
  const [life, series, number] = [bytes.readUInt32LE(at), bytes.readUInt32LE(at + 4), bytes.readUInt32LE(at + 8)];
  return { type, ...readName(bytes), life, series, number, time: bytes.readInt32LE(at + 12) };
}

export function greeting({ hub, machine, life }: HubName): Buffer {
  const bytes = Buffer.allocUnsafe(GREETING_LENGTH);
  bytes[0] = GREETING;
  bytes[1] = HUB_VERSION;
  bytes.writeUInt32LE(life, writeName(bytes, hub, machine));
  return bytes;
}

export const isGreeting = (bytes: Buffer): boolean => bytes[0] === GREETING;

/** @throws MalformedMessage */
export function openGreeting(bytes: Buffer): HubName {
  if (!isGreeting(bytes)) throw new MalformedMessage('what hubs meet with is no greeting');
  checkVersion(bytes[1]);
  if (bytes.length !== GREETING_LENGTH) throw new MalformedMessage('a greeting of a hub has the wrong length');
  return { ...readName(bytes), life: bytes.readUInt32LE(2 + 2 * MACHINE) };
}

function writeName(bytes: Buffer, hub: string, machine: string): number {
  bytes.write(hub, 2, MACHINE, 'latin1');
  bytes.write(machine, 2 + MACHINE, MACHINE, 'latin1');
  return 2 + 2 * MACHINE;
}

function readName(bytes: Buffer): { hub: string; machine: string } {
  const name = bytes.toString('latin1', 2, 2 + 2 * MACHINE);
  if (!/^[\w-]{16}$/.test(name)) throw new MalformedMessage('a hub does not say who it is');
  return { hub: name.slice(0, MACHINE), machine: name.slice(MACHINE) };
}

function checkVersion(version: number | undefined): void {
  if (version === HUB_VERSION) return;
  throw new MalformedMessage(
    `a hub has the version ${version}, and this server reads version ${HUB_VERSION}: run the same version on all machines`,
  );
}

/** Somebody who has members of rooms. */
export interface RoomOwner {
  readonly id: string;
  /** The rooms; undefined while they are not known. */
  rooms: Set<RoomKey> | undefined;
}

/** Knows the owners of each room, and which rooms any of them has. */
export class RoomIndex<Owner extends RoomOwner> {
  /** The rooms that any of them has. */
  readonly union = new Set<RoomKey>();
  private readonly owners = new Map<RoomKey, Owner[]>();

  /** @returns the rooms that none of them had before */
  add(owner: Owner, keys: Iterable<RoomKey>): RoomKey[] {
    const { owners, union } = this;
    const added: RoomKey[] = [];
    const rooms = owner.rooms ?? new Set<RoomKey>();
    owner.rooms = rooms;
    for (const key of keys) {
      if (rooms.has(key)) continue;
      rooms.add(key);
      const others = owners.get(key);
      if (others) others.push(owner);
      else {
        owners.set(key, [owner]);
        union.add(key);
        added.push(key);
      }
    }
    return added;
  }

  /** @returns the rooms that none of them has any more */
  remove(owner: Owner, keys: Iterable<RoomKey>): RoomKey[] {
    const { owners, union } = this;
    const removed: RoomKey[] = [];
    for (const key of keys) {
      if (!owner.rooms?.has(key)) continue;
      owner.rooms.delete(key);
      const left = owners.get(key)!.filter((other) => other !== owner);
      if (left.length > 0) owners.set(key, left);
      else {
        owners.delete(key);
        union.delete(key);
        removed.push(key);
      }
    }
    return removed;
  }

  /** The owner is gone, or its rooms are not known any more. */
  forget(owner: Owner): RoomKey[] {
    const removed = this.remove(owner, [...(owner.rooms ?? [])]);
    owner.rooms = undefined;
    return removed;
  }

  /** Those that have one of the rooms. */
  of(keys: readonly RoomKey[]): readonly Owner[] {
    if (keys.length === 1) return this.owners.get(keys[0]!) ?? NONE;
    const all = new Set<Owner>();
    for (const key of keys) for (const owner of this.owners.get(key) ?? NONE) all.add(owner);
    return [...all];
  }
}

const NONE: readonly never[] = [];
