import { WebSocket } from 'ws';

/** What gets the events of a WebSocket of `ws`. */
export interface InnerOwner {
  onMessage(data: Buffer, isBinary: boolean): void;
  onPing(data: Buffer): void;
  onPong(data: Buffer): void;
  onError(error: NodeJS.ErrnoException): void;
  onClose(code: number, reason: Buffer): void;
}

/** A WebSocket of `ws` that calls its owner. Listeners would take some hundred bytes for each connection. */
export class InnerWebSocket extends WebSocket {
  owner: InnerOwner | undefined;

  override emit(event: string | symbol, ...[first, second]: unknown[]): boolean {
    const { owner } = this;
    if (!owner) return false;
    if (event === 'message') owner.onMessage(first as Buffer, second as boolean);
    else if (event === 'ping') owner.onPing(first as Buffer);
    else if (event === 'pong') owner.onPong(first as Buffer);
    else if (event === 'error') owner.onError(first as NodeJS.ErrnoException);
    else if (event === 'close') owner.onClose(first as number, second as Buffer);
    return true;
  }
}
