import type { Server } from 'node:http';
import { BridgeSocket, type Ends } from './bridge-socket.js';
import type { ResponseWriter, Written } from './response-writer.js';

const EMPTY = Buffer.alloc(0);

/** The socket of one request. node:http writes the body of the response to it, which goes on to uWebSockets.js. */
export class HttpSocket extends BridgeSocket {
  /** Whether listeners of the server's event `connection` know of it. */
  isAnnounced = false;

  constructor(
    server: Server,
    ends: Ends,
    private readonly writer: ResponseWriter,
  ) {
    super(server, ends);
  }

  /** Duplex's own queue is left out: it would copy what uWebSockets.js copies anyway. */
  override write(data: string | Uint8Array, encoding?: BufferEncoding | Written, written?: Written): boolean {
    const callback = typeof encoding === 'function' ? encoding : written;
    const { writer } = this;
    // Informational responses, such as 103, go out before the head. uWebSockets.js cannot send them, and sends 100 itself.
    if (!writer.hasHead) {
      if (callback) process.nextTick(callback);
      return true;
    }
    const bytes = bytesOf(data, typeof encoding === 'string' ? encoding : undefined);
    this.bytesWritten += bytes.length;
    this.touch();
    return writer.write(bytes, callback);
  }

  override _final(done: (error?: Error | null) => void): void {
    this.writer.end();
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.writer.destroy();
    super._destroy(error, done);
  }

  /** A part of the request's body has come. */
  received(bytes: number): void {
    this.bytesRead += bytes;
    this.touch();
  }
}

function bytesOf(data: string | Uint8Array, encoding: BufferEncoding | undefined): Buffer {
  if (data.length === 0) return EMPTY;
  if (typeof data === 'string') return Buffer.from(data, encoding);
  return Buffer.isBuffer(data) ? data : Buffer.from(data.buffer, data.byteOffset, data.byteLength);
}
