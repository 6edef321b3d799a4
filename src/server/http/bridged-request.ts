import type { HttpResponse } from 'uWebSockets.js';
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
import type { Ends } from './connection-facts.js';
import { HttpSocket } from './http-socket.js';
import type { RawRequest } from './raw-request.js';
import { ResponseWriter } from './response-writer.js';
import { Upload } from './upload.js';

/** One request of an application: node:http's message and response, and the parts that feed them. */
export class BridgedRequest {
  readonly message: IncomingMessage;
  readonly response: ServerResponse;
  readonly socket: HttpSocket;
  private readonly writer: ResponseWriter;
  private readonly upload: Upload | undefined;

  /**
   * Create it in the request's handler.
   * @param onOver called once, when the response is complete or the connection is closed
   */
  constructor(
    res: HttpResponse,
    request: RawRequest,
    hasBody: boolean,
    { Message, Response }: HttpClasses,
    private readonly ends: Ends,
    private readonly onOver: (request: BridgedRequest) => void,
  ) {
    this.writer = new ResponseWriter(res, request.method === 'HEAD', request.isLast);
    const socket = new HttpSocket(
      ends,
      this.writer,
      () => this.onTimeout(),
      () => this.onDestroy(),
    );
    this.socket = socket;
    this.message = createMessage(Message, ends.server, socket as unknown as Socket, request);
    this.response = new Response(this.message);
    this.response.shouldKeepAlive = !request.isLast;
    captureHead(ends.server, this.response, (head) => this.writer.setHead(head));
    this.writer.onDrain = () => {
      drain(this.response);
      this.upload?.pace();
    };
    if (hasBody) {
      this.upload = new Upload(res, this.message, this.writer, (bytes) => socket.received(bytes));
    } else {
      this.message.complete = true;
      this.message.push(null);
    }
    res.onAborted(() => {
      this.upload?.abort();
      this.writer.abort();
      socket.destroy();
    });
    if (ends.server.timeout) socket.setTimeout(ends.server.timeout);
    this.response.assignSocket(socket as unknown as Socket);
    this.response.on('finish', () => this.onFinish());
  }

  private onFinish(): void {
    const { message, response, socket, upload } = this;
    upload?.release();
    // Reading an empty body to its end takes some turns of the event loop. Without listeners, that work is wasted.
    if (upload || message.listenerCount('end') > 0 || message.listenerCount('close') > 0) dumpUnread(message);
    response.detachSocket(socket as unknown as Socket);
    this.writer.end();
    socket.settle();
    this.onOver(this);
    // A listener of `connection` may keep a list of the connections, and expects each one to close.
    if (socket.isAnnounced) socket.destroy();
    process.nextTick(closeResponse, response);
  }

  private onDestroy(): void {
    const { message } = this;
    this.upload?.abort();
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
