import type { Packet } from 'socket.io-parser';
import { currentTick } from '../clock.js';
import { LONG, RecentStrings } from '../delivery/recent-strings.js';
import { announcedSession } from '../session/announced.js';
import { BinaryPacket } from './binary-packet.js';
import { type EncodedPackets, Decoder as FullDecoder, Encoder as FullEncoder, PacketType } from './socket-io-parser.js';

/**
 * A lean variant of Socket.IO's default parser. It sends the same bytes, and socket.io-parser itself reads and writes
 * them. A client has its own decoder only while the attachments of a binary packet arrive.
 *
 * For the `parser` option of socket.io's Server.
 */

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
  private binary: BinaryPacket | undefined = undefined;
  /** Undefined if the engine is not gjallar's. */
  private readonly session = announcedSession();

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
    if (this.session && typeof data === 'string' && isLargeConnect(data, this.session.maxAuthSize)) {
      return this.session.giveUp('packet too large');
    }
    if (this.binary || typeof data !== 'string' || hasAttachments(data)) return this.addBinary(data);
    const packet = readPlainEvent(data) ?? readText(data);
    if (packet?.type === PacketType.CONNECT) {
      countConnect(this);
      if (entered.get(this)?.get(packet.nsp)?.connected) return this.connectAgain(packet);
    }
    if (packet) this.deliver(packet);
  }

  /** The client has left the namespace before it knew that it had entered. */
  private connectAgain(packet: Packet): void {
    this.deliver({ type: PacketType.DISCONNECT, nsp: packet.nsp } as Packet);
    // socket.io ends the old socket in the next tick.
    process.nextTick(() => this.deliver(packet));
  }

  private deliver(packet: Packet): void {
    // The first value of an event is its name.
    const max = packet.type === PacketType.ACK ? MAX_ARGUMENTS : MAX_ARGUMENTS + 1;
    if (Array.isArray(packet.data) && packet.data.length > max) throw new Error('too many arguments');
    this.decoded?.(packet);
  }

  /** What waits for attachments, under the name that it has in socket.io-parser. */
  get reconstructor(): object | undefined {
    return this.binary;
  }

  destroy(): void {
    this.binary?.end();
    this.binary = undefined;
  }

  private addBinary(data: unknown): void {
    this.binary ??= new BinaryPacket(this.session, (packet) => {
      this.binary = undefined;
      this.deliver(packet);
    });
    try {
      this.binary.add(data);
    } catch (error) {
      this.destroy();
      throw error;
    }
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

const CONNECT = 48;
/** About the memory of a value. */
const VALUE_BYTES = 32;
const VALUES = /[,[{]/g;

/** Whether a CONNECT packet would take more memory than its `auth` may, for as long as the client is connected. */
function isLargeConnect(text: string, max: number): boolean {
  if (text.charCodeAt(0) !== CONNECT || text.length * (VALUE_BYTES + 1) <= max) return false;
  return text.length > max || text.length + VALUE_BYTES * (text.match(VALUES)?.length ?? 0) > max;
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

/** How long a client may take to learn that it has entered a namespace, in ms. */
const UNAWARE_MS = 1000;
/** The sockets of namespaces that clients have entered lately, besides their first, by decoder and namespace. */
let entered = new Map<unknown, Map<string, { readonly connected: boolean }>>();

/**
 * Call it when a client has entered a further namespace. As on stock, where the messages of one TCP segment come in one tick,
 * a CONNECT that the client sent before it knew does not end its connection.
 */
export function noteEntered(decoder: unknown, namespace: string, socket: { readonly connected: boolean }): void {
  if (entered.size === 0) {
    setTimeout(() => {
      entered = new Map();
    }, UNAWARE_MS).unref();
  }
  entered.set(decoder, (entered.get(decoder) ?? new Map()).set(namespace, socket));
}

/** Whether a text may differ from its JSON without the quotes. Finding out takes less time than JSON.stringify(). */
const NEEDS_ESCAPES = /[^ !#-[\]-~]/;

interface EncodedEvent {
  nsp: string;
  event: unknown;
  encoded: string[];
}

/** Encodes packets. An event whose only value is a long text is encoded once for consecutive recipients. */
export class Encoder extends FullEncoder {
  private readonly recent = new RecentStrings<EncodedEvent[]>();
  /** The start of the last short event: many in a row have the same name. */
  private head = '';
  private event: string | undefined;
  private nsp: string | undefined;

  override encode(packet: Packet): EncodedPackets {
    const { data } = packet;
    if (packet.type !== PacketType.EVENT || packet.id !== undefined) return super.encode(packet);
    if (!Array.isArray(data) || data.length !== 2) return super.encode(packet);
    const [event, text] = data as [unknown, unknown];
    if (typeof text !== 'string' || typeof event !== 'string') return super.encode(packet);
    // A text has no attachments. Encoding the two alone takes half of the time that their array takes.
    if (text.length < LONG) return [this.encodeText(packet.nsp, event, text)];
    const known = this.recent.get(text, newList);
    if (!known) return super.encode(packet);
    for (const candidate of known) {
      if (candidate.event === event && candidate.nsp === packet.nsp) return candidate.encoded;
    }
    const same = { event, nsp: packet.nsp, encoded: super.encode(packet) as string[] };
    if (known.length < MAX_EVENTS) known.push(same);
    return same.encoded;
  }

  private encodeText(nsp: string, event: string, text: string): string {
    if (event !== this.event || nsp !== this.nsp) {
      this.event = event;
      this.nsp = nsp;
      this.head = `2${!nsp || nsp === '/' ? '' : `${nsp},`}[${JSON.stringify(event)},`;
    }
    return NEEDS_ESCAPES.test(text) ? `${this.head}${JSON.stringify(text)}]` : `${this.head}"${text}"]`;
  }
}

function newList(): EncodedEvent[] {
  return [];
}

/** How deep a packet's data may be nested. Node's stack has room for several times this depth. */
export const MAX_NESTING = 1000;

/**
 * JSON.parse accepts any depth, but recursive code that walks over the result overflows the stack and ends the process.
 * socket.io-parser, which looks for binary data, and JSON.stringify do that.
 * @throws Error if data is nested deeper than {@link MAX_NESTING}
 */
export function checkDepth(text: string): void {
  // A shorter text, or one with fewer brackets, cannot be nested this deep.
  if (text.length <= 2 * MAX_NESTING || !opensOften(text)) return;
  let depth = 0;
  let isInString = false;
  // A namespace may contain quotes.
  const start = /^\d(\d+-)?\//.test(text) ? text.indexOf(',') : 0;
  for (let at = Math.max(0, start); at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 34 /* " */) isInString = !isInString;
    else if (isInString) at += code === 92 /* \\ */ ? 1 : 0;
    else if (code === 91 /* [ */ || code === 123 /* { */) {
      if (++depth > MAX_NESTING) throw new Error('nested too deeply');
    } else if (code === 93 /* ] */ || code === 125 /* } */) depth--;
  }
}

/** Whether the text has enough brackets anywhere. Spares long texts with few brackets a check of each character. */
function opensOften(text: string): boolean {
  let left = MAX_NESTING;
  for (const bracket of '[{') {
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1)) if (--left < 0) return true;
  }
  return false;
}
