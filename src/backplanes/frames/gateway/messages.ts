import type { WorkerLinks } from '../../../base/worker-links.js';
import { MalformedMessage } from '../../../errors.js';

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

/** What a worker tells the others of its machine about itself. */
export interface WorkerState {
  /** Whether it gets the frames from the machine's channel itself; otherwise it needs the gateway. */
  readonly isReading: boolean;
  /** Whether it can be the gateway: it is connected and will not end soon. */
  readonly isCandidate: boolean;
}

/** A worker of this machine. */
export interface Mate extends WorkerState {
  readonly id: number;
}

/** How many workers of a machine stay subscribed to its channel: the gateway and its deputy. */
const READERS = 2;

/** Candidates come first, then the lower number. */
const isBefore = (one: Mate, other: Mate): boolean =>
  one.isCandidate === other.isCandidate ? one.id < other.id : one.isCandidate;

/** The gateway and its deputy, as far as there are any: the first two workers that read the channel. */
export function rolesAmong(workers: Iterable<Mate>): { gateway?: number | undefined; deputy?: number | undefined } {
  const [gateway, deputy] = [...workers].filter(({ isReading }) => isReading).sort((a, b) => (isBefore(a, b) ? -1 : 1));
  return { gateway: gateway?.id, deputy: deputy?.id };
}

/** Whether a worker that reads the channel may stop: two candidates before it read it, too. */
export function mayStop(self: Mate, others: Iterable<Mate>): boolean {
  let readers = 0;
  for (const other of others) if (other.isCandidate && other.isReading && isBefore(other, self)) readers++;
  return readers >= READERS;
}

/** Whether a worker that does not read the channel should begin: it is next, or there is no gateway. */
export function shouldBegin(self: Mate, others: readonly Mate[]): boolean {
  if (!others.some(({ isReading }) => isReading)) return true;
  return self.isCandidate && others.filter((other) => other.isCandidate && isBefore(other, self)).length < READERS;
}

/**
 * Two purposes on the same links: one gets the payloads that begin with a version, the other one all others.
 */
export function linksByVersion(links: WorkerLinks, version: number): { others: WorkerLinks; ofVersion: WorkerLinks } {
  type Listener = Parameters<WorkerLinks['onMessage']>[0];
  const listeners: { others: Listener; ofVersion: Listener } = { others: () => {}, ofVersion: () => {} };
  links.onMessage((from, payload) => listeners[payload[0] === version ? 'ofVersion' : 'others'](from, payload));
  const shared = (name: keyof typeof listeners): WorkerLinks => ({
    id: links.id,
    get members() {
      return links.members;
    },
    send: (to, payload) => links.send(to, payload),
    broadcast: (payload) => links.broadcast(payload),
    flush: () => links.flush?.(),
    onMessage: (listener) => {
      listeners[name] = listener;
    },
    onLeave: (listener) => links.onLeave(listener),
  });
  return { others: shared('others'), ofVersion: shared('ofVersion') };
}
