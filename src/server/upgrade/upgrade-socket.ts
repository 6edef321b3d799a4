import { warnOnce } from '../../base/warnings.js';
import { isTooLong } from '../../compat/uws.js';
import { maxPayloadOf } from '../../compat/ws/max-payload.js';
import type { IncomingBytes } from '../../engine/incoming/incoming-bytes.js';
import { UnreadBytes } from '../../engine/incoming/unread-bytes.js';
import { corkHolder } from '../../engine/uws/cork-holder.js';
import type { HttpResponse, us_socket_context_t, WebSocket } from '../../sockets.js';
import { BridgeSocket } from '../http/bridge-socket.js';
import type { Ends } from '../http/connection-facts.js';
import { ResponseWriter } from '../http/response-writer.js';
import { clientFrame, closePayload, type Frame, FrameReader, frameHead, opcodes } from './frames.js';
import type { Limit, PayloadLimits } from './payload-limits.js';
import { type UpgradeHead, UpgradeHeadReader } from './upgrade-response.js';

/** uWebSockets.js copies the own properties of this onto the WebSocket itself. */
export interface BridgedData {
  link: UpgradeSocket;
}

type Done = (error?: Error | null) => void;

/** When more bytes than this wait for a slow client, the application is told to wait. */
const MAX_WAITING_BYTES = 1 << 20;
/** The number of bytes that may wait for an application that does not read. uWebSockets.js cannot pause a WebSocket. */
const MAX_UNREAD_BYTES = 128 << 20;

/** A request whose connection ends with the response, because libraries close the socket. */
const LAST = { method: 'GET', isFlagged: false, isLast: true, endsConnection: true, framing: 'none' } as const;
const NO_BODY = { isReceiving: false, whenReceived() {}, beforeEnd() {} };

/**
 * The socket that a WebSocket library gets with the event `upgrade`. The library writes its handshake and its frames to
 * it as usual. Because uWebSockets.js owns the connection, this class parses the frames and sends their payloads.
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
  /** Accepts the WebSocket, once the application's library has set it up. */
  private acceptance: (() => void) | undefined;
  private limit: Limit | undefined;
  private readonly unread: UnreadBytes;

  constructor(
    ends: Ends,
    private readonly res: HttpResponse,
    private readonly key: string,
    private readonly publicRoute: us_socket_context_t,
    private readonly limits: PayloadLimits<BridgedData>,
    incoming: IncomingBytes,
  ) {
    super(ends);
    this.unread = new UnreadBytes(incoming, () => this.destroy());
    res.onAborted(() => {
      this.isGone = true;
      this.refusal?.abort();
      this.destroy();
    });
  }

  /** The request's handler has returned. */
  becomeLate(): void {
    // What is accepted within the handler needs no cork of its own.
    this.completeAcceptance();
    this.isLate = true;
  }

  // Called for the events of uWebSockets.js.

  onOpen(ws: WebSocket<BridgedData>): void {
    this.ws = ws;
  }

  onFrame(opcode: number, data: ArrayBuffer | Buffer): void {
    if (this.destroyed) return;
    this.bytesRead += data.byteLength;
    this.touch();
    // clientFrame() copies the data, whose memory belongs to uWebSockets.js.
    this.push(clientFrame(opcode, Buffer.from(data as ArrayBuffer)));
    if (this.readableLength > MAX_UNREAD_BYTES) this.destroy();
    else this.unread.set(this.readableLength);
  }

  override _read(): void {
    // The stream calls this before it takes the last bytes.
    if (this.unread.bufferedAmount > 0) setImmediate(() => this.unread.set(this.destroyed ? 0 : this.readableLength));
  }

  onDrain(): void {
    // If a `drain` handler corks its socket, uWebSockets.js may never write the rest of the waiting bytes.
    if (this.waiting) setImmediate(() => this.resumeWriting());
  }

  onClose(code: number, reason: ArrayBuffer): void {
    this.detach();
    this.resumeWriting();
    if (this.destroyed) return;
    if (isTooLong(code, Buffer.from(reason).toString())) this.reportLength();
    // 1006 means that there was no close frame. If the application has closed first, this is the client's answer.
    if (code !== 1006) this.push(clientFrame(opcodes.close, closePayload(code, Buffer.from(reason))));
    this.push(null);
    setImmediate(() => this.destroy());
  }

  // Called for the writes of the application.

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
    this.leave('end');
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.leave('close');
    this.resumeWriting();
    this.completeAcceptance();
    this.unread.set(0);
    super._destroy(error, done);
  }

  private resumeWriting(): void {
    const { waiting } = this;
    this.waiting = undefined;
    waiting?.();
  }

  private writeHead(chunk: Buffer, done: Done): void {
    const complete = this.reader.push(chunk);
    if (!complete) return done();
    const { head, rest } = complete;
    if (head.status === 101) {
      this.acceptance = () => {
        if (this.isGone) return done();
        this.accept(head);
        if (rest.length > 0) this.writeFrames(rest, done);
        else done();
      };
      // The library writes the head first, and sets its limit in the same turn.
      if (this.isLate) process.nextTick(() => this.completeAcceptance());
      return;
    }
    this.refusal = new ResponseWriter(this.res, LAST, NO_BODY);
    this.refusal.onOver = () => this.destroy();
    this.refusal.setHead(head.text);
    if (rest.length > 0) this.refusal.write(rest);
    done();
  }

  private completeAcceptance(): void {
    if (!this.acceptance) return;
    this.limits.whenKnown(() => {
      const { acceptance } = this;
      this.acceptance = undefined;
      acceptance?.();
    });
  }

  private accept({ headers, protocol }: UpgradeHead): void {
    this.isAccepted = true;
    const { res, limits } = this;
    this.limit = limits.limitFor(maxPayloadOf(this));
    const context = limits.routeFor(this.limit) ?? this.publicRoute;
    if (headers.length > 0) {
      res.cork(() => {
        res.writeStatus('101 Switching Protocols');
        for (let index = 0; index < headers.length; index += 2) res.writeHeader(headers[index]!, headers[index + 1]!);
      });
    }
    const upgrade = () => res.upgrade<BridgedData>({ link: this }, this.key, protocol, '', context);
    if (this.isLate) corkHolder.run(upgrade);
    else upgrade();
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

  /** uWebSockets.js has ended the WebSocket because of a message that is too long. */
  private reportLength(): void {
    const { bytes, isStated } = this.limit!;
    // The library then reports the length as if it had read the head of that message itself.
    if (isStated) return void this.push(frameHead(opcodes.binary, bytes + 1));
    warnOnce(
      'GJALLAR_MESSAGE_TOO_LONG',
      `gjallar ended a WebSocket of the application: a message was longer than ${bytes} bytes. ` +
        'If your clients send longer ones, set webSocketMaxPayload, or GJALLAR_WEBSOCKET_MAX_PAYLOAD.',
    );
  }

  /** Returns the WebSocket and forgets it. */
  private detach(): WebSocket<BridgedData> | undefined {
    const { ws } = this;
    this.ws = undefined;
    this.isGone = true;
    return ws;
  }

  /** Ends the connection, if it has not ended yet. */
  private leave(how: 'end' | 'close'): void {
    const { refusal, isGone } = this;
    const ws = this.detach();
    if (refusal) refusal.end();
    else if (ws) ws[how]();
    else if (!isGone) this.res.close();
  }
}

/** Methods that the typings of uWebSockets.js omit. */
interface FragmentedWebSocket extends WebSocket<BridgedData> {
  sendFirstFragment(message: Buffer, isBinary: boolean): number;
  sendFragment(message: Buffer, isBinary: boolean): number;
  sendLastFragment(message: Buffer): number;
}
