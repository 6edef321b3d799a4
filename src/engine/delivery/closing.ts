import { type Clock, systemClock } from '../clock.js';
import { DeadlineQueue, type Waiting } from '../deadlines.js';
import { isNative, type WebSocketConnection } from '../http/exchange.js';

/** How long a client that is behind may take for what waits, before it is cut off, in ms. */
const GRACE_MS = 10_000;

/**
 * WebSockets that end while something still waits for their client. A close frame has to queue behind it, and is
 * dropped by uWebSockets.js where more waits than `maxBackpressure`. Who takes all of it in time gets the frame; who
 * does not is cut off, so that what waits does not stay in memory.
 */
export class Closing {
  private readonly webSockets = new Map<WebSocketConnection, ClosingWebSocket>();
  private readonly queue: DeadlineQueue<ClosingWebSocket>;

  constructor(clock: Clock = systemClock) {
    this.queue = new DeadlineQueue(GRACE_MS, ({ webSocket }) => webSocket.close(), clock);
  }

  /** Ends a WebSocket in order. Nothing may be sent over it any more. */
  end(webSocket: WebSocketConnection, code?: number, reason?: string): void {
    // One that another worker holds ends there.
    if (!isNative(webSocket) || webSocket.getBufferedAmount() === 0) return webSocket.end(code, reason);
    if (this.webSockets.has(webSocket)) return;
    for (const topic of webSocket.getTopics()) webSocket.unsubscribe(topic);
    const closing = new ClosingWebSocket(webSocket, code, reason);
    this.webSockets.set(webSocket, closing);
    this.queue.add(closing);
  }

  /** The client has taken some of what waited. */
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

  /** Cuts off those that are left. */
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
