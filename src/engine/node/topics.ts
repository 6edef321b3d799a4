import type { Writable } from '../uws/app.js';
import { compressedFrameOf, frameOf, opcodes } from './frames.js';
import type { NodeWebSocket } from './web-socket.js';

/** The subscriptions of an app. A message to a topic is framed once for all its subscribers. */
export class NodeTopics {
  private readonly subscribers = new Map<string, Set<NodeWebSocket>>();

  subscribe(socket: NodeWebSocket, topic: string): void {
    const known = this.subscribers.get(topic);
    if (known) known.add(socket);
    else this.subscribers.set(topic, new Set([socket]));
  }

  unsubscribe(socket: NodeWebSocket, topic: string): void {
    const known = this.subscribers.get(topic);
    known?.delete(socket);
    if (known?.size === 0) this.subscribers.delete(topic);
  }

  count(topic: string): number {
    return this.subscribers.get(topic)?.size ?? 0;
  }

  /** @returns whether there is a subscriber */
  publish(topic: string, message: Writable, isBinary: boolean, compress: boolean): boolean {
    const subscribers = this.subscribers.get(topic);
    if (!subscribers) return false;
    const outgoing = new OutgoingMessage(message, isBinary, compress);
    for (const socket of subscribers) socket.deliver(outgoing);
    return true;
  }
}

/** From this number of bytes on, a text that one client after another is sent as the same bytes is framed once. */
export const SHARED_BYTES = 4096;
/** Texts by their bytes, which never change: a text that the application may change is not sent as bytes. */
const shared = new WeakMap<Uint8Array, OutgoingMessage>();

/** A message as a frame that is made once for all WebSockets that get it. */
export class OutgoingMessage {
  static of(message: Writable, isBinary: boolean, compresses: boolean): OutgoingMessage {
    if (isBinary || compresses || !(message instanceof Uint8Array) || message.length < SHARED_BYTES) {
      return new OutgoingMessage(message, isBinary, compresses);
    }
    const known = shared.get(message) ?? new OutgoingMessage(message, isBinary, compresses);
    shared.set(message, known);
    return known;
  }

  private readonly plain: Buffer;
  private compressed: Buffer | undefined = undefined;

  /** @param compresses whether it is compressed for those that have agreed to it */
  constructor(
    message: Writable,
    isBinary: boolean,
    private readonly compresses: boolean,
  ) {
    this.plain = frameOf(message, isBinary ? opcodes.binary : opcodes.text);
  }

  /** @param mayCompress whether the WebSocket has agreed to compression */
  frameFor(mayCompress: boolean): Buffer {
    if (!mayCompress || !this.compresses) return this.plain;
    this.compressed ??= compressedFrameOf(this.plain);
    return this.compressed;
  }
}
