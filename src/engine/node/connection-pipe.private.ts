/**
 * The private parts of node:net with which open connections go from one process to another over a Unix socket. `process.send()`
 * passes one at a time on the channel on which node:cluster passes new connections, and waits for each to be acknowledged.
 * Checked against Node.js 20.20, 22.23 and 24.21. `test/engine/node/connection-pipe.test.ts` fails if one is missing.
 */
import { Socket } from 'node:net';
import { queueMicrotask } from '../../base/clock.js';
import { socketOn } from './node-net.private.js';

/** UV_NAMED_PIPE with which handles can be sent. */
const IPC = 2;
const HEAD_BYTES = 4;
const EMPTY = Buffer.alloc(0);

interface Handle {
  readonly fd: number;
}

interface PipeHandle extends Handle {
  /** What has come with the bytes of a read. */
  pendingHandle?: Handle | null;
  /** Opens a descriptor; returns an error number, 0 for none. */
  open(fd: number): number;
  writeLatin1String(request: object, text: string, handle?: Handle | null): number;
}

const handleOf = (socket: Socket) => (socket as unknown as { _handle: PipeHandle | null })._handle;

/** A message, and the connection that it goes with. */
type Passed = readonly [message: Buffer, connection: Socket];

/** Messages to another process of this machine, each with a connection. */
export class ConnectionPipe {
  private readonly socket: Socket;
  private readonly waiting: Passed[] = [];
  private isWriting = false;
  /** What goes with the next write. */
  private passed: Handle | null | undefined;
  /** What has come of a message that is not complete, and its connection. */
  private bytes = EMPTY;
  private handle: Handle | undefined;

  /**
   * @param carrier a Unix socket that is connected, and from which nothing was read
   * @param onMessage called with each message; its connection may be lost on the way, for want of descriptors
   */
  constructor(
    /** Never closed: the descriptor is the pipe's. */
    readonly carrier: Socket,
    private readonly onMessage: (message: Buffer, connection: Socket | undefined) => void,
    onClose: () => void,
  ) {
    const bare = handleOf(carrier)!;
    const Pipe = bare.constructor as new (type: number) => PipeHandle;
    const pipe = new Pipe(IPC);
    const error = pipe.open(bare.fd);
    if (error !== 0) throw new Error(`a Unix socket cannot pass connections: error ${error}`);
    const { writeLatin1String } = pipe;
    pipe.writeLatin1String = (request, text) => writeLatin1String.call(pipe, request, text, this.passed);
    this.socket = new Socket({ handle: pipe } as object).unref();
    this.socket.on('data', (chunk: Buffer) => this.onData(chunk));
    this.socket.on('error', () => {});
    this.socket.on('close', onClose);
  }

  /**
   * Sends a message with a connection at the end of this turn, after what others are told in it. This process has the
   * connection, too, until it closes it.
   */
  send(message: Buffer, connection: Socket): void {
    this.waiting.push([message, connection]);
    if (this.isWriting) return;
    this.isWriting = true;
    queueMicrotask(() => this.writeNext());
  }

  /** Node.js would write what waits in one go, without its connections. */
  private writeNext(): void {
    const next = this.waiting.shift();
    this.isWriting = next !== undefined;
    if (!next) return;
    const [message, connection] = next;
    const head = Buffer.alloc(HEAD_BYTES);
    head.writeUInt32LE(message.length);
    this.passed = handleOf(connection);
    this.socket.write(Buffer.concat([head, message]).toString('latin1'), 'latin1', () => this.writeNext());
    this.passed = undefined;
  }

  /** A connection comes with the first byte of its message, and the system ends the read before the next message begins. */
  private onData(chunk: Buffer): void {
    const pipe = handleOf(this.socket)!;
    let handle = pipe.pendingHandle ?? undefined;
    pipe.pendingHandle = undefined;
    const take = () => {
      this.handle = handle;
      handle = undefined;
    };
    if (this.bytes.length === 0) take();
    this.bytes = Buffer.concat([this.bytes, chunk]);
    while (this.bytes.length >= HEAD_BYTES) {
      const end = HEAD_BYTES + this.bytes.readUInt32LE(0);
      if (this.bytes.length < end) return;
      const message = this.bytes.subarray(HEAD_BYTES, end);
      const connection = this.handle && socketOn(this.handle);
      this.bytes = this.bytes.subarray(end);
      take();
      this.onMessage(message, connection);
    }
  }
}
