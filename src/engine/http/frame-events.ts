import type { Closing } from '../delivery/closing.js';
import type { SlowClients } from '../delivery/slow-clients.js';
import type { FrameGuard } from '../limits/frame-guard.js';
import type { FrameReceiver, NativeWebSocket } from './exchange.js';

/** The parts of an engine that get the events of its WebSockets. */
export interface FrameHost {
  readonly slow: SlowClients;
  readonly closing: Closing;
  readonly frameGuard: FrameGuard;
}

/** What both bases do with the events of a WebSocket. */
export class FrameEvents {
  constructor(private readonly host: FrameHost) {}

  message(receiver: FrameReceiver, message: ArrayBuffer | Buffer, isBinary: boolean): void {
    this.host.frameGuard.message(receiver, message, isBinary);
  }

  /** The client has sent a ping or a pong. */
  control(receiver: FrameReceiver): void {
    receiver.onControlFrame?.();
    this.host.frameGuard.control(receiver);
  }

  ponged(webSocket: NativeWebSocket, receiver: FrameReceiver): void {
    this.control(receiver);
    this.host.closing.ponged(webSocket);
  }

  drained(webSocket: NativeWebSocket, receiver: FrameReceiver): void {
    this.host.closing.drained(webSocket);
    receiver.onDrain();
  }

  dropped(webSocket: NativeWebSocket, receiver: FrameReceiver): void {
    this.host.slow.onDropped(webSocket, receiver);
  }

  closed(webSocket: NativeWebSocket, receiver: FrameReceiver, code: number, reason: string): void {
    const { closing, slow, frameGuard } = this.host;
    closing.closed(webSocket);
    slow.muted.delete(webSocket);
    frameGuard.closed(receiver, code, reason);
  }
}
