import type { HttpResponse, us_socket_context_t, WebSocket } from 'uWebSockets.js';
import { upgradeUncorked } from '../../engine/uws-exchange.js';
import { BridgeSocket } from '../http/bridge-socket.js';
import type { Ends } from '../http/connection-facts.js';
import { ResponseWriter } from '../http/response-writer.js';
import { clientFrame, closePayload, type Frame, FrameReader, opcodes } from './frames.js';
import { type UpgradeHead, UpgradeHeadReader } from './upgrade-response.js';

/** What uWebSockets.js keeps on a WebSocket of the bridge. */
export interface BridgedData {
  link: UpgradeSocket;
}

type Done = (error?: Error | null) => void;

/** So many bytes may wait for a slow client before the application is told to wait. */
const MAX_WAITING_BYTES = 1 << 20;
/** So many bytes may wait for an application that does not read: uWebSockets.js cannot stop reading a WebSocket. */
const MAX_UNREAD_BYTES = 128 << 20;

/**
 * The socket that a WebSocket library gets with the event `upgrade`. The library writes its handshake and its frames to
 * it as ever; uWebSockets.js has the connection, so frames are taken apart here and put together again.
 */
export class UpgradeSocket extends BridgeSocket {
  private readonly reader = new UpgradeHeadReader();
  private readonly frames = new FrameReader();
  private ws: WebSocket<BridgedData> | undefined;
  private refusal: ResponseWriter | undefined;
  private isAccepted = false;
  private isGone = false;
  private isLate = false;
  private fragmentIsBinary = false;
  /** The application's write that waits for the client. */
  private waiting: Done | undefined;

  constructor(
    ends: Ends,
    private readonly res: HttpResponse,
    private readonly key: string,
    private readonly context: us_socket_context_t,
  ) {
    super(ends);
    res.onAborted(() => {
      this.isGone = true;
      this.refusal?.abort();
      this.destroy();
    });
  }

  /** The request's handler has returned. */
  becomeLate(): void {
    this.isLate = true;
  }

  // What uWebSockets.js tells.

  onOpen(ws: WebSocket<BridgedData>): void {
    this.ws = ws;
  }

  onFrame(opcode: number, data: ArrayBuffer): void {
    if (this.destroyed) return;
    this.bytesRead += data.byteLength;
    this.touch();
    // The data's memory is uWebSockets.js's own.
    this.push(clientFrame(opcode, Buffer.from(data)));
    if (this.readableLength > MAX_UNREAD_BYTES) this.destroy();
  }

  onDrain(): void {
    const { waiting } = this;
    this.waiting = undefined;
    waiting?.();
  }

  onClose(code: number, reason: ArrayBuffer): void {
    this.ws = undefined;
    this.isGone = true;
    this.onDrain();
    if (this.destroyed) return;
    // 1006 stands for a connection that was cut off. Where the application has closed, this is its client's answer.
    if (code !== 1006) this.push(clientFrame(opcodes.close, closePayload(code, Buffer.from(reason))));
    this.push(null);
    setImmediate(() => this.destroy());
  }

  // What the application writes.

  override _write(chunk: Buffer, _encoding: string, done: Done): void {
    if (this.isGone) return done();
    this.bytesWritten += chunk.length;
    this.touch();
    try {
      if (this.refusal) this.refusal.write(chunk, done);
      else if (this.isAccepted) this.writeFrames(chunk, done);
      else this.writeHead(chunk, done);
    } catch (error) {
      done(error as Error);
    }
  }

  override _final(done: Done): void {
    if (this.refusal) this.endRefusal();
    else if (this.ws) this.detach()?.end();
    else if (!this.isGone) this.cutOff();
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    if (this.refusal) this.endRefusal();
    else if (this.ws) this.detach()?.close();
    else if (!this.isGone) this.cutOff();
    this.onDrain();
    super._destroy(error, done);
  }

  private writeHead(chunk: Buffer, done: Done): void {
    const complete = this.reader.push(chunk);
    if (!complete) return done();
    const { head, rest } = complete;
    if (head.status === 101) {
      this.accept(head);
      if (rest.length > 0) return this.writeFrames(rest, done);
    } else {
      this.refusal = new ResponseWriter(this.res, false, true);
      this.refusal.setHead(head.text);
      if (rest.length > 0) this.refusal.write(rest);
    }
    done();
  }

  private accept({ headers, protocol }: UpgradeHead): void {
    this.isAccepted = true;
    const { res } = this;
    if (headers.length > 0) {
      res.cork(() => {
        res.writeStatus('101 Switching Protocols');
        for (let index = 0; index < headers.length; index += 2) res.writeHeader(headers[index]!, headers[index + 1]!);
      });
    }
    upgradeUncorked(this.isLate, () => res.upgrade<BridgedData>({ link: this }, this.key, protocol, '', this.context));
  }

  private writeFrames(chunk: Buffer, done: Done): void {
    const { ws } = this;
    if (!ws) return done();
    const frames = this.frames.push(chunk);
    ws.cork(() => {
      for (const frame of frames) this.sendFrame(frame);
    });
    if (this.ws && ws.getBufferedAmount() > MAX_WAITING_BYTES) this.waiting = done;
    else done();
  }

  private sendFrame({ opcode, isFinal, payload }: Frame): void {
    const ws = this.ws as FragmentedWebSocket | undefined;
    if (!ws) return;
    if (opcode === opcodes.close) {
      this.detach();
      ws.end(payload.length >= 2 ? payload.readUInt16BE(0) : 1005, payload.subarray(2));
    } else if (opcode === opcodes.ping) ws.ping(payload);
    // uWebSockets.js answers pings itself.
    else if (opcode === opcodes.pong) return;
    else if (opcode === opcodes.continuation) {
      if (isFinal) ws.sendLastFragment(payload);
      else ws.sendFragment(payload, this.fragmentIsBinary);
    } else {
      this.fragmentIsBinary = opcode === opcodes.binary;
      if (isFinal) ws.send(payload, this.fragmentIsBinary);
      else ws.sendFirstFragment(payload, this.fragmentIsBinary);
    }
  }

  /** The WebSocket, which is nobody's from then on. */
  private detach(): WebSocket<BridgedData> | undefined {
    const { ws } = this;
    this.ws = undefined;
    this.isGone = true;
    return ws;
  }

  private endRefusal(): void {
    this.isGone = true;
    this.refusal!.end();
  }

  private cutOff(): void {
    this.isGone = true;
    this.res.close();
  }
}

/** Methods that uWebSockets.js's typings leave out. */
interface FragmentedWebSocket extends WebSocket<BridgedData> {
  sendFirstFragment(message: Buffer, isBinary: boolean): number;
  sendFragment(message: Buffer, isBinary: boolean): number;
  sendLastFragment(message: Buffer): number;
}
