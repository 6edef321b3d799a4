import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import {
  captureHead,
  closeResponse,
  createMessage,
  drain,
  dumpUnread,
  type HttpClasses,
} from '../../compat/node-http.js';
import type { Buffers } from '../../engine/delivery/held-bytes.js';
import type { HttpResponse } from '../../sockets.js';
import type { Ends } from './connection-facts.js';
import { HttpSocket } from './http-socket.js';
import type { RawRequest } from './raw-request.js';
import { type Ending, ResponseWriter } from './response-writer.js';
import { Upload } from './upload.js';

/** One request of an application: node:http's message and response, and the parts that feed them. */
export class BridgedRequest implements Ending {
  readonly message: IncomingMessage;
  readonly response: ServerResponse;
  readonly socket: HttpSocket;
  /** The turn of the event loop in which it arrived. */
  turn = 0;
  /** Called with its turn if the connection is closed before the response is complete. */
  onAborted: ((turn: number) => void) | undefined;
  private readonly writer: ResponseWriter;
  private readonly upload: Upload | undefined;
  private readonly trailersOf: () => string;

  /**
   * Create it in the request's handler.
   * @param onOver called once, when the response is complete or the connection is closed
   * @param buffers count what the application, and the client, have not read
   */
  constructor(
    res: HttpResponse,
    request: RawRequest,
    { Message, Response }: HttpClasses,
    private readonly ends: Ends,
    private readonly onOver: (request: BridgedRequest) => void,
    buffers: () => Buffers,
  ) {
    this.writer = new ResponseWriter(res, request, this, () => buffers().outgoing);
    const socket = new HttpSocket(
      ends,
      this.writer,
      () => this.onTimeout(),
      () => this.onDestroy(),
    );
    this.socket = socket;
    this.message = createMessage(Message, ends.server, socket as unknown as Socket, request);
    this.response = new Response(this.message);
    this.response.shouldKeepAlive = !request.isLast && !request.endsConnection;
    this.trailersOf = captureHead(ends.server, this.response, (head) => this.writer.setHead(head));
    this.writer.onDrain = () => {
      drain(this.response);
      this.upload?.pace();
    };
    if (request.framing !== 'none') {
      this.upload = new Upload(
        res,
        this.message,
        this.writer,
        (bytes) => socket.received(bytes),
        () => buffers().incoming,
      );
    } else {
      this.message.complete = true;
      this.message.push(null);
    }
    res.onAborted(() => {
      if (!this.writer.isOver) this.onAborted?.(this.turn);
      this.upload?.leave();
      this.writer.abort();
      socket.destroy();
    });
    if (ends.server.timeout) socket.setTimeout(ends.server.timeout);
    this.response.assignSocket(socket as unknown as Socket);
    this.response.on('finish', () => this.onFinish());
  }

  get isReceiving(): boolean {
    return this.upload?.isComplete === false;
  }

  whenReceived(onReceived: () => void): void {
    this.upload!.onReceived = onReceived;
  }

  beforeEnd(): void {
    this.upload?.release();
  }

  private onFinish(): void {
    const { message, response, socket, upload, writer } = this;
    // Reading an empty body to its end takes some turns of the event loop. Without listeners, that work is wasted.
    if (upload || message.listenerCount('end') > 0 || message.listenerCount('close') > 0) dumpUnread(message);
    response.detachSocket(socket as unknown as Socket);
    writer.end(this.trailersOf());
    if (writer.isOver) this.onEnd();
    else writer.onOver = () => this.onEnd();
  }

  private onEnd(): void {
    const { response, socket } = this;
    socket.settle();
    this.onOver(this);
    // A listener of `connection` may keep a list of the connections, and expects each one to close.
    if (socket.isAnnounced) socket.destroy();
    process.nextTick(closeResponse, response);
  }

  private onDestroy(): void {
    const { message } = this;
    this.upload?.leave();
    // Without a listener, the error would be uncaught.
    if (!message.readableEnded) message.destroy(message.listenerCount('error') > 0 ? aborted() : undefined);
    this.onOver(this);
  }

  private onTimeout(): void {
    const { message, response, socket } = this;
    const isHandled = [
      !message.complete && message.emit('timeout', socket),
      !response.writableFinished && response.emit('timeout', socket),
      this.ends.server.emit('timeout', socket),
    ].includes(true);
    if (!isHandled) socket.destroy();
  }
}

/** The error that node:http passes to the message when the client disconnects. */
function aborted(): Error {
  return Object.assign(new Error('aborted'), { code: 'ECONNRESET' });
}
