import { type Clock, systemClock } from '../clock.js';
import { DeadlineEntry, DeadlineQueue } from '../deadlines.js';
import { isNative, type NativeWebSocket, type WebSocketConnection } from '../http/exchange.js';
import type { Buffering } from './buffer-budget.js';

/** How long a client may take to read the waiting bytes, or to answer a ping, before it is disconnected, in ms. */
const GRACE_MS = 10_000;

/** How a WebSocket ends: with a close frame, or, as after a network failure, without one. */
type Ending = 'close frame' | 'dismissal';

/**
 * Closes WebSockets while bytes still wait for their client. A close frame must queue behind those bytes, and
 * uWebSockets.js drops it if they exceed `maxBackpressure`. A client that reads all of them in time gets the frame. Any
 * other client is disconnected, so that the bytes do not stay in memory.
 *
 * A client that should reconnect is dismissed. Some clients, such as okhttp, stop reading after a close frame, and notice
 * the end only when their heartbeat fails. Every client reconnects after a network failure. The connection is therefore
 * cut, once the client's answer to a ping has shown that it has read everything:
 *
 * ```
 * CLIENT                          SERVER
 *   │  waiting messages, ping       │
 *   │ ◀──────────────────────────── │
 *   │  pong                         │
 *   │ ────────────────────────────▶ │
 *   │  end of the TCP connection    │
 *   │ ◀──────────────────────────── │
 * ```
 */
export class Closing {
  private readonly webSockets = new Map<WebSocketConnection, ClosingWebSocket>();
  private readonly queue: DeadlineQueue<ClosingWebSocket>;

  constructor(clock: Clock = systemClock) {
    this.queue = new DeadlineQueue(GRACE_MS, ({ webSocket }) => webSocket.close(), clock);
  }

  /** The number of WebSockets whose clients have not read everything yet. */
  get size(): number {
    return this.webSockets.size;
  }

  has(webSocket: WebSocketConnection): boolean {
    return this.webSockets.has(webSocket);
  }

  /** Those WebSockets: their bytes wait as those of other clients do. */
  clients(): Iterable<Buffering> {
    return this.webSockets.values();
  }

  /** Closes a WebSocket gracefully. Do not send over it afterwards. */
  end(webSocket: WebSocketConnection, code?: number, reason?: string): void {
    // If another worker holds the WebSocket, that worker closes it.
    if (!isNative(webSocket) || webSocket.getBufferedAmount() === 0) return webSocket.end(code, reason);
    this.add(webSocket, 'close frame', code, reason);
  }

  /** Cuts a WebSocket off once its client has read everything. Do not send over it afterwards. */
  dismiss(webSocket: WebSocketConnection): void {
    if (!isNative(webSocket)) return webSocket.dismiss?.();
    this.add(webSocket, 'dismissal');
    if (webSocket.getBufferedAmount() === 0) webSocket.ping();
  }

  private add(webSocket: NativeWebSocket, ending: Ending, code?: number, reason?: string): void {
    if (this.webSockets.has(webSocket)) return;
    for (const topic of webSocket.getTopics()) webSocket.unsubscribe(topic);
    const closing = new ClosingWebSocket(webSocket, ending, code, reason);
    this.webSockets.set(webSocket, closing);
    this.queue.add(closing);
  }

  /** The client has read some of the waiting bytes. */
  drained(webSocket: WebSocketConnection): void {
    if (this.webSockets.size === 0 || webSocket.getBufferedAmount() > 0) return;
    const closing = this.webSockets.get(webSocket);
    if (closing?.ending === 'dismissal') closing.webSocket.ping();
    if (closing?.ending !== 'close frame') return;
    this.closed(webSocket);
    webSocket.end(closing.code, closing.reason);
  }

  /** The client has answered a ping. */
  ponged(webSocket: WebSocketConnection): void {
    if (this.webSockets.get(webSocket)?.ending === 'dismissal') webSocket.close();
  }

  /** The WebSocket is closed. */
  closed(webSocket: WebSocketConnection): void {
    const closing = this.webSockets.get(webSocket);
    if (!closing) return;
    this.webSockets.delete(webSocket);
    this.queue.remove(closing);
  }

  /** Disconnects all clients that are left. */
  close(): void {
    for (const webSocket of [...this.webSockets.keys()]) webSocket.close();
    this.queue.close();
  }
}

class ClosingWebSocket extends DeadlineEntry<ClosingWebSocket> implements Buffering {
  constructor(
    readonly webSocket: NativeWebSocket,
    readonly ending: Ending,
    readonly code: number | undefined,
    readonly reason: string | undefined,
  ) {
    super();
  }

  get bufferedAmount(): number {
    return this.webSocket.getBufferedAmount();
  }

  onOverflow(): void {
    this.webSocket.close();
  }
}
