import { Encoder, PacketType, placesOfAttachments, TrustedDecoder } from '../../compat/socket-io-parser.js';
import { GjallarError, MalformedMessage } from '../../errors.js';
import { decodePackets } from '../../rooms/encoded-packet.js';
import type { StoredMessage } from '../store.js';

/** An event to a room, as clients receive it. */
export interface DurableEvent {
  readonly event: string;
  readonly values: readonly unknown[];
  /** Rooms whose sockets do not get it when it is delivered. */
  readonly except: readonly string[];
}

/** The author of every kept event: the store takes messages without an author for erased ones. */
export const AUTHOR = 'event';

/** What is kept as the text of a message: the packet of Socket.IO, and its attachments in base64. */
interface Kept {
  p: string;
  b?: string[];
  x?: readonly string[];
}

const encoder = new Encoder();

/**
 * @returns the text that is kept
 * @throws what Socket.IO's encoder throws, for values that it cannot encode
 */
export function textOf({ event, values, except }: DurableEvent): string {
  const packet = { type: PacketType.EVENT, nsp: '/', data: [event, ...values] };
  const [text, ...attachments] = encoder.encode(packet);
  const kept: Kept = { p: text as string };
  if (attachments.length > 0) kept.b = attachments.map((bytes) => (bytes as Buffer).toString('base64'));
  if (except.length > 0) kept.x = except;
  return JSON.stringify(kept);
}

/**
 * @returns the event; undefined if it was erased
 * @throws MalformedMessage if another program has written it
 */
export function eventOf({ from, text }: Pick<StoredMessage, 'from' | 'text'>): DurableEvent | undefined {
  if (from === '') return undefined;
  try {
    const { p, b = [], x = [] } = JSON.parse(text) as Kept;
    const [event, ...values] = decodePackets(
      [p, ...b.map((attachment) => Buffer.from(attachment, 'base64'))],
      TrustedDecoder,
    );
    if (typeof event === 'string') return { event, values, except: x };
  } catch {
    // It is no event.
  }
  throw new MalformedMessage('a message of a durable room is no event');
}

/**
 * Values of the application may look like the places of attachments. Messages are read in pages, in which they would stand for
 * the bytes of other messages.
 * @throws GjallarError BAD_INPUT if a value looks so
 */
export function checkReadable(text: string): void {
  if (!text.includes('_placeholder')) return;
  const { p, b = [] } = JSON.parse(text) as Kept;
  if (placesOfAttachments(p) !== b.length) {
    throw new GjallarError(
      'BAD_INPUT',
      'A message has a value with "_placeholder" that is no Buffer. Rename the property.',
    );
  }
}

/** How many attachments the text of a message has; 0 if it is no event. */
export function attachmentsOf(text: string): number {
  try {
    return (JSON.parse(text) as Kept).b?.length ?? 0;
  } catch {
    return 0;
  }
}
