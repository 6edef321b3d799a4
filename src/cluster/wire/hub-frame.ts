import { MalformedMessage } from '../../base/errors.js';
import { MACHINE, NOWHERE } from './envelope.js';
import { types } from './types.js';

/**
 * What is published for hubs: frames of the hubs of different machines, each on the channel of a hub, greetings on the channel of all,
 * and what emitters publish on theirs.
 *
 * ```
 * version (1) │ type (1) │ hub (8) │ machine (8) │ life (4) │ series (4) │ number (4) │ time (4) │ envelopes
 * ```
 * Integers are little endian. A hub takes a new life whenever messages may have been lost. The frames of a series are numbered
 * from 0. Only frames and what emitters publish have envelopes.
 */
const HUB_VERSION = 2;

/** Where the envelopes of a frame begin. */
export const ENVELOPES = 2 + 2 * MACHINE + 16;

/** A hub as it names itself. */
export interface HubName {
  /** 8 random characters. */
  readonly hub: string;
  /** The id of its machine. */
  readonly machine: string;
  readonly life: number;
}

export interface HubFrame extends HubName {
  readonly type: number;
  readonly series: number;
  readonly number: number;
  /** In ticks, on the clock of the sender. */
  readonly time: number;
}

export function frameHead({ type, hub, machine, life, series, number, time }: HubFrame): Buffer {
  const head = Buffer.allocUnsafe(ENVELOPES);
  head[0] = HUB_VERSION;
  head[1] = type;
  let at = 2 + head.write(hub + machine, 2, 2 * MACHINE, 'latin1');
  for (const value of [life, series, number]) at = head.writeUInt32LE(value, at);
  head.writeInt32LE(time, at);
  return head;
}

/** What an emitter writes before its envelopes: an emitter is no hub. */
export const emittedHead = (): Buffer =>
  frameHead({ type: types.emitted, hub: NOWHERE, machine: NOWHERE, life: 0, series: 0, number: 0, time: 0 });

/** @throws MalformedMessage */
export function openHubFrame(bytes: Buffer): HubFrame {
  if (bytes.length < ENVELOPES) throw new MalformedMessage('a frame for a hub is too short');
  const [version, type] = bytes as unknown as [number, number];
  if (version !== HUB_VERSION) throw new MalformedMessage(otherVersion(version));
  if (type < types.greeting || type > types.emitted)
    throw new MalformedMessage('a frame for a hub has an unknown type');
  const name = bytes.toString('latin1', 2, 2 + 2 * MACHINE);
  if (!/^[\w-]{16}$/.test(name)) throw new MalformedMessage('a frame for a hub does not say who sends it');
  const at = 2 + 2 * MACHINE;
  const [life, series, number] = [bytes.readUInt32LE(at), bytes.readUInt32LE(at + 4), bytes.readUInt32LE(at + 8)];
  const [hub, machine] = [name.slice(0, MACHINE), name.slice(MACHINE)];
  return { type, hub, machine, life, series, number, time: bytes.readInt32LE(at + 12) };
}

const otherVersion = (version: number): string =>
  `a hub or an emitter has the version ${version}, and this server reads version ${HUB_VERSION}: run the same version everywhere`;
