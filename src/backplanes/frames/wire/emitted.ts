import { MalformedMessage } from '../../../errors.js';
import { endOf, HEADER, types } from './message.js';

/** The name of every sender that is no worker. Socket.IO's adapters count no server of this name. */
export const EMITTER = 'emitter';

/**
 * What an emitter publishes on the channel on which all workers meet. Those that it is for are not known to it, so all
 * workers get it. It arrives on one way only, so it needs no number: the channel keeps the order of each connection.
 *
 * ```
 * version (1) │ messages
 * ```
 * The words of workers on the same channel begin with a letter.
 */
const VERSION = 1;

/** @param messages broadcasts, and messages between socket.io's adapters whose `uid` is {@link EMITTER} */
export function emittedFrame(messages: readonly Buffer[]): Buffer {
  return Buffer.concat([Buffer.of(VERSION), ...messages]);
}

export const isEmitted = (bytes: Buffer): boolean => bytes[0] === VERSION;

/**
 * Hands on the messages of an emitter.
 * @throws MalformedMessage if the bytes are incomplete, or have messages that only workers send
 */
export function readEmitted(bytes: Buffer, onMessage: (type: number, body: Buffer) => void): void {
  let at = 1;
  while (at < bytes.length) {
    const end = endOf(bytes, at);
    const type = bytes[at + 4]!;
    if (type > types.cluster) throw new MalformedMessage('an emitter sends a message that only workers send');
    onMessage(type, bytes.subarray(at + HEADER, end));
    at = end;
  }
}
