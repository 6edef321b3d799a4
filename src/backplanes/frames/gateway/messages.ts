import { MalformedMessage } from '../../../errors.js';
import type { WorkerState } from './mates.js';

/**
 * What the workers of a machine tell each other about the frames of other machines. All of it begins with a version, which
 * differs from that of the frames between them, and a kind.
 *
 * ```
 * state:   version (1) │ 0 │ 1 if the worker reads the channel (1) │ 1 if it can be the gateway (1)
 * feeding: version (1) │ 1
 * frame:   version (1) │ 2 │ a frame of another machine
 * passed:  version (1) │ 3 │ for each sender: length of its id (1), id │ number of its last frame (6)
 * answer:  version (1) │ 4
 * ```
 */
export const GATEWAY_VERSION = 2;

export const kinds = { state: 0, feeding: 1, frame: 2, passed: 3, answer: 4 } as const;

export const HEADER = 2;
const NUMBER = 6;

const frameHeader = Buffer.of(GATEWAY_VERSION, kinds.frame);

/** The gateway hands on all frames for the receiver from now on. */
export const feeding = Buffer.of(GATEWAY_VERSION, kinds.feeding);
/** The sender has got the receiver's hello. */
export const answer = Buffer.of(GATEWAY_VERSION, kinds.answer);

export const stateMessage = ({ isReading, isCandidate }: WorkerState): Buffer =>
  Buffer.of(GATEWAY_VERSION, kinds.state, Number(isReading), Number(isCandidate));

export const stateOf = (message: Buffer): WorkerState => ({
  isReading: message[HEADER] === 1,
  isCandidate: message[HEADER + 1] === 1,
});

export const frameMessage = (frame: Buffer): Buffer => Buffer.concat([frameHeader, frame]);

export function passedMessage(numbers: ReadonlyMap<string, number>): Buffer {
  const parts = [Buffer.of(GATEWAY_VERSION, kinds.passed)];
  for (const [sender, number] of numbers) {
    const bytes = Buffer.allocUnsafe(1 + sender.length + NUMBER);
    bytes[0] = sender.length;
    bytes.write(sender, 1, 'latin1');
    bytes.writeUIntLE(number, 1 + sender.length, NUMBER);
    parts.push(bytes);
  }
  return Buffer.concat(parts);
}

/** @throws MalformedMessage if it is incomplete */
export function passedNumbers(message: Buffer): Map<string, number> {
  const numbers = new Map<string, number>();
  for (let at = HEADER; at < message.length; ) {
    const end = at + 1 + message[at]!;
    if (end + NUMBER > message.length) throw new MalformedMessage('the numbers of a gateway are incomplete');
    numbers.set(message.toString('latin1', at + 1, end), message.readUIntLE(end, NUMBER));
    at = end + NUMBER;
  }
  return numbers;
}
