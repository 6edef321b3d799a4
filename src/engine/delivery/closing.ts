import { type Clock, systemClock } from '../clock.js';
import { DeadlineQueue, type Waiting } from '../deadlines.js';
import { isNative, type WebSocketConnection } from '../http/exchange.js';

/** How long a slow client may take to read the waiting bytes before it is disconnected, in ms. */
const GRACE_MS = 10_000;

/**
 * Closes WebSockets while bytes still wait for their client. A close frame must queue behind those bytes, and
 * uWebSockets.js drops it if they exceed `maxBackpressure`. A client that reads all of them in time gets the frame. Any
 * other client is disconnected, so that the bytes do not stay in memory.
 */
export class Closing {
  private readonly webSockets = new Map<WebSocketConnection, ClosingWebSocket>();
  private readonly queue: DeadlineQueue<ClosingWebSocket>;

  constructor(clock: Clock = systemClock) {
    this.queue = new DeadlineQueue(GRACE_MS, ({ webSocket }) => webSocket.close(), clock);
  }

  /** Closes a WebSocket gracefully. Do not send over it afterwards. */
  end(webSocket: WebSocketConnection, code?: number, reason?: string): void {
    // If another worker holds the WebSocket, that worker closes it.
    if (!isNative(webSocket) || webSocket.getBufferedAmount() === 0) return webSocket.end(code, reason);
    if (this.webSockets.has(webSocket)) return;
    for (const topic of webSocket.getTopics()) webSocket.unsubscribe(topic);
    const closing = new ClosingWebSocket(webSocket, code, reason);
    this.webSockets.set(webSocket, closing);
    this.queue.add(closing);
  }

  /** The client has read some of the waiting bytes. */
  drained(webSocket: WebSocketConnection): void {
    if (this.webSockets.size === 0 || webSocket.getBufferedAmount() > 0) return;
    const closing = this.webSockets.get(webSocket);
    if (!closing) return;
    this.closed(webSocket);
    webSocket.end(closing.code, closing.reason);
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

class ClosingWebSocket implements Waiting<ClosingWebSocket> {
  queue: DeadlineQueue<ClosingWebSocket> | undefined = undefined;
  due = 0;
  previous: ClosingWebSocket | undefined = undefined;
  next: ClosingWebSocket | undefined = undefined;

  constructor(
    readonly webSocket: WebSocketConnection,
    readonly code: number | undefined,
    readonly reason: string | undefined,
  ) {}
}
