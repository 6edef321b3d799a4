import { createRequire } from 'node:module';
import type { Packet } from 'socket.io-parser';
import { LONG, RecentStrings } from '../engine/delivery/recent-strings.js';
import { currentTick } from '../engine/delivery/tick.js';
import { checkDepth } from './depth.js';

/**
 * A lean variant of Socket.IO's default parser. It sends the same bytes, and socket.io-parser itself reads and writes
 * them. A client has its own decoder only while the attachments of a binary packet arrive.
 *
 * For the `parser` option of socket.io's Server.
 */

// The copy that socket.io itself has loaded. `import` would load a second one.
const {
  Decoder: FullDecoder,
  Encoder: FullEncoder,
  PacketType,
} = createRequire(import.meta.url)('socket.io-parser') as typeof import('socket.io-parser');

type Decoded = (packet: Packet) => void;

/**
 * How many values an event or an acknowledgement may carry. socket.io passes them to the listeners as arguments. More
 * than some ten thousand arguments overflow the stack, which ends the process.
 */
export const MAX_ARGUMENTS = 64;

/** With how many event names and namespaces one text is cached. */
const MAX_EVENTS = 4;

/** The digits of BINARY_EVENT and BINARY_ACK: packets with attachments. */
const BINARY_EVENT = 53;
const BINARY_ACK = 54;

let textPacket: Packet | undefined;
/** Reads packets without attachments for all clients, because it keeps no state between packets. */
const textDecoder = new FullDecoder();
textDecoder.on('decoded', (packet: Packet) => {
  textPacket = packet;
});

/** Reads the packets of one client. */
export class Decoder {
  private decoded: Decoded | undefined = undefined;
  private full: InstanceType<typeof FullDecoder> | undefined = undefined;

  /** The only event is `decoded`, with one listener: socket.io's Client. */
  on(_event: 'decoded', listener: Decoded): this {
    this.decoded = listener;
    return this;
  }

  removeListener(_event: 'decoded', listener: Decoded): this {
    if (this.decoded === listener) this.decoded = undefined;
    return this;
  }

  off(event: 'decoded', listener: Decoded): this {
    return this.removeListener(event, listener);
  }

  /** Reads a text or an attachment. If it breaks the protocol, throws the error of socket.io-parser. */
  add(data: unknown): void {
    if (typeof data === 'string') checkDepth(data);
    if (this.full || typeof data !== 'string' || hasAttachments(data)) return this.addToFull(data);
    const packet = readPlainEvent(data) ?? readText(data);
    if (packet?.type === PacketType.CONNECT) countConnect(this);
    if (packet) this.deliver(packet);
  }

  private deliver(packet: Packet): void {
    // The first value of an event is its name.
    const max = packet.type === PacketType.ACK ? MAX_ARGUMENTS : MAX_ARGUMENTS + 1;
    if (Array.isArray(packet.data) && packet.data.length > max) throw new Error('too many arguments');
    this.decoded?.(packet);
  }

  /** What waits for attachments, under the name that it has in socket.io-parser. */
  get reconstructor(): object | undefined {
    return this.full;
  }

  destroy(): void {
    this.full?.destroy();
    this.full = undefined;
  }

  private addToFull(data: unknown): void {
    if (!this.full) {
      this.full = new FullDecoder();
      this.full.on('decoded', (packet: Packet) => {
        this.full = undefined;
        this.deliver(packet);
      });
    }
    this.full.add(data);
  }
}

/** The digit of an EVENT, and the first character of its data. */
const EVENT = 50;
const BRACKET = 91;

/**
 * Reads an event of the main namespace without an acknowledgement, as nearly all packets are, without a scan of each
 * character. Leaves any other packet, and any doubtful one, to socket.io-parser.
 */
function readPlainEvent(text: string): Packet | undefined {
  if (text.charCodeAt(0) !== EVENT || text.charCodeAt(1) !== BRACKET) return undefined;
  let data: unknown;
  try {
    data = JSON.parse(text.slice(1));
  } catch {
    return undefined;
  }
  if (!Array.isArray(data) || typeof data[0] !== 'string' || reservedEvents.has(data[0])) return undefined;
  return { type: PacketType.EVENT, nsp: '/', data };
}

/** Event names that socket.io-parser rejects. */
const reservedEvents = new Set([
  'connect',
  'connect_error',
  'disconnect',
  'disconnecting',
  'newListener',
  'removeListener',
]);

function readText(text: string): Packet | undefined {
  textDecoder.add(text);
  const packet = textPacket;
  textPacket = undefined;
  return packet;
}

function hasAttachments(text: string): boolean {
  const digit = text.charCodeAt(0);
  return digit === BINARY_EVENT || digit === BINARY_ACK;
}

/** How many namespaces a client may connect to in one turn of the event loop. */
const MAX_CONNECTS = 100;
let connecting: Decoder | undefined;
let connectingIn = -1;
let connects = 0;

/**
 * socket.io creates a Socket for each CONNECT that arrives before the first one has passed the middleware. One polling
 * payload of a megabyte could create 300,000 of them.
 */
function countConnect(decoder: Decoder): void {
  const tick = currentTick();
  if (connecting !== decoder || connectingIn !== tick) connects = 0;
  connecting = decoder;
  connectingIn = tick;
  if (++connects > MAX_CONNECTS) throw new Error('too many CONNECT packets at once');
}

interface EncodedEvent {
  nsp: string;
  event: unknown;
  encoded: string[];
}

/** Encodes packets. An event whose only value is a long text is encoded once for consecutive recipients. */
export class Encoder extends FullEncoder {
  private readonly recent = new RecentStrings<EncodedEvent[]>();

  override encode(packet: Packet): ReturnType<InstanceType<typeof FullEncoder>['encode']> {
    const { data } = packet;
    if (packet.type !== PacketType.EVENT || packet.id !== undefined) return super.encode(packet);
    if (!Array.isArray(data) || data.length !== 2) return super.encode(packet);
    const [event, text] = data as [unknown, unknown];
    if (typeof text !== 'string') return super.encode(packet);
    // A text has no attachments.
    if (text.length < LONG) return [this.encodeText(packet)];
    const known = this.recent.get(text, newList);
    if (!known) return super.encode(packet);
    for (const candidate of known) {
      if (candidate.event === event && candidate.nsp === packet.nsp) return candidate.encoded;
    }
    const same = { event, nsp: packet.nsp, encoded: super.encode(packet) as string[] };
    if (known.length < MAX_EVENTS) known.push(same);
    return same.encoded;
  }

  private encodeText({ nsp, data }: Packet): string {
    return `2${!nsp || nsp === '/' ? '' : `${nsp},`}${JSON.stringify(data)}`;
  }
}

function newList(): EncodedEvent[] {
  return [];
}
