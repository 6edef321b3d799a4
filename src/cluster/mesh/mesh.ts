import { rmSync } from 'node:fs';
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { nextTick, setImmediate } from '../../base/clock.js';
import { reportFailure } from '../../base/owner.js';
import { thisProcess } from '../../base/process.js';
import { within } from '../../base/within.js';
import { socketOf } from '../protocol.js';
import { type Envelope, pack, senderOf } from '../wire/envelope.js';
import { EnvelopeStream, Outgoing } from '../wire/stream.js';
import { types } from '../wire/types.js';
import { SlowPeerDetector } from './slow-peers.js';

/** The number of the hub of a machine. It is no member: what is for all workers does not go to it. */
export const HUB = 0;

export interface MeshListener {
  /** A worker or the hub is linked, after this one has joined the mesh. */
  onJoin?(id: number): void;
  /** May keep the body of the envelope, but not the envelope. */
  onMessage?(from: number, envelope: Envelope): void;
  /** A worker or the hub is gone, after all that it has sent. */
  onLeave?(id: number): void;
}

/** Above this number of bytes, what is sent does not wait for the end of the turn. */
const MAX_HELD_BYTES = 256 * 1024;

/** The end of a link that this worker sends on. */
interface Link {
  readonly socket: Socket;
  /** What was sent in this turn. */
  readonly out: Outgoing;
}

/**
 * The links between the workers of one machine: a Unix socket for each pair and direction, without a broker. Messages
 * of one worker to another arrive in order, or not at all once one of the two is gone. A worker that was killed is gone
 * when the last message that it had sent is delivered.
 *
 * A new worker says hello to each running worker, and each of them links back to it. When `join` resolves, it receives
 * every message that they send.
 *
 * ```
 * NEW                                    EACH OTHER
 *  │  connect, hello(id)                  │
 *  │ ───────────────────────────────────▶ │
 *  │                 connect, welcome(id) │
 *  │ ◀─────────────────────────────────── │
 * ```
 *
 * A worker that does not read its messages is disconnected and replaced. A link that has lost a message must not be
 * used again.
 */
export class Mesh {
  private readonly links = new Map<number, Link>();
  private readonly welcomed = new Map<number, () => void>();
  private readonly listeners: MeshListener[] = [];
  /** Links that have something to send at the end of this turn. */
  private readonly waiting = new Set<Link>();
  /** Links from other workers. The value is the worker's id once its greeting has arrived. */
  private readonly incoming = new Map<Socket, number | undefined>();
  private readonly slowPeers = new SlowPeerDetector((link) => this.giveUp(link));
  private server: Server | undefined;

  /**
   * @param id this worker's id, unique for the lifetime of the primary
   * @param directory where the workers' sockets are
   * @param onStuck called with the id of a worker that does not read its messages. This worker treats it as gone, but
   *   the other one does not know that, so it must be killed.
   */
  constructor(
    readonly id: number,
    readonly directory: string,
    private readonly onStuck: (id: number) => void = () => {},
  ) {}

  /** The ids of the other workers that are linked. */
  get members(): number[] {
    return [...this.links.keys()].filter((id) => id !== HUB);
  }

  /** Bytes that the other workers have not read yet. */
  get pendingBytes(): number {
    let bytes = 0;
    for (const { socket, out } of this.links.values()) bytes += socket.writableLength + out.bytes;
    return bytes;
  }

  has(id: number): boolean {
    return this.links.has(id);
  }

  /** Starts to accept links. */
  listen(): Promise<void> {
    // What keeps a worker alive is its channel to the primary.
    this.server = createServer((socket) => this.accept(socket)).unref();
    return new Promise((resolve, reject) => {
      this.server!.once('error', reject);
      // Exclusive, so that the primary does not accept the links, and its death causes no error here.
      this.server!.listen({ path: this.pathOf(this.id), exclusive: true }, () => {
        // When the primary is killed, the cluster module ends the worker at once. A socket of another one stays.
        process.once('exit', this.removeSocket);
        resolve();
      });
    });
  }

  /** Links with the running workers. A worker that has died meanwhile is ignored. */
  async join(others: readonly number[]): Promise<void> {
    await Promise.all(
      others.map(
        (id) =>
          new Promise<void>((resolve) => {
            this.welcomed.set(id, resolve);
            this.link(id, types.hello);
          }),
      ),
    );
  }

  on(listener: MeshListener): void {
    this.listeners.push(listener);
  }

  /**
   * Sends an envelope to one worker, or to the hub, by the end of this turn. Returns false when it is not linked.
   * @param envelope the one that a reader is at, or its bytes
   */
  send(to: number, envelope: Envelope | Buffer): boolean {
    const link = this.links.get(to);
    if (!link) return false;
    if (this.waiting.size === 0) nextTick(() => this.flush());
    this.waiting.add(link);
    link.out.add(envelope);
    if (link.out.bytes > MAX_HELD_BYTES) this.write(link);
    return true;
  }

  /** Hands to the system what was sent in this turn. What the system takes at once arrives, whatever happens to this worker next. */
  flush(): void {
    for (const link of this.waiting) this.write(link);
  }

  /**
   * Resolves once the system has taken all that was sent, of those that are not gone.
   * @param ms how long that may take
   * @returns how many bytes are left
   */
  async written(ms: number): Promise<number> {
    this.flush();
    const sockets = [...this.links.values()].map(({ socket }) => socket);
    const behind = sockets.filter(({ writableLength }) => writableLength > 0);
    // Each write is done in its turn, or with an error once the link is closed.
    const written = Promise.all(behind.map((socket) => new Promise((done) => socket.write('', done))));
    return (await within(ms, written)) ? 0 : this.pendingBytes;
  }

  private write(link: Link): void {
    this.waiting.delete(link);
    link.socket.write(link.out.take());
    this.slowPeers.check(link.socket);
  }

  close(): void {
    this.listeners.length = 0;
    const hasSocket = this.server?.listening;
    this.server?.close();
    this.slowPeers.close();
    for (const { socket } of this.links.values()) socket.destroy();
    for (const socket of this.incoming.keys()) socket.destroy();
    this.links.clear();
    process.off('exit', this.removeSocket);
    if (hasSocket) this.removeSocket();
  }

  private readonly removeSocket = (): void => {
    rmSync(this.pathOf(this.id), { force: true });
  };

  private pathOf(id: number): string {
    return socketOf(this.directory, id);
  }

  private link(id: number, greeting: number): void {
    const socket = createConnection(this.pathOf(id)).unref();
    const link = { socket, out: new Outgoing() };
    const former = this.links.get(id);
    this.links.set(id, link);
    // Two that say hello at the same moment link back to each other, too.
    if (former) this.end(former);
    socket.on('error', () => {});
    // A link back may still wait to be accepted.
    socket.on('close', () => setImmediate(() => this.onClosed(id, link)));
    // No data arrives on this link. Reading it is how its end is noticed.
    socket.resume();
    this.send(id, pack({ type: greeting, part: 0, from: senderOf(this.id, '') }));
  }

  /** Closes a link behind all that was sent on it. */
  private end(link: Link): void {
    if (this.waiting.has(link)) this.write(link);
    link.socket.end();
  }

  /** The worker is gone once all that it has sent is read. That comes on another connection. */
  private onClosed(id: number, link: Link): void {
    if (this.links.get(id) !== link) return;
    const mayBeUnread = (from: number | undefined) => from === id || (from === undefined && this.welcomed.has(id));
    const [unread, from] = [...this.incoming].find(([socket, from]) => !socket.destroyed && mayBeUnread(from)) ?? [];
    if (!unread) return this.onGone(id, link);
    const again = () => this.onClosed(id, link);
    unread.once('close', again);
    if (from === undefined) unread.once('data', again);
  }

  private onGone(id: number, link: Link): void {
    if (this.links.get(id) !== link) return;
    this.links.delete(id);
    this.waiting.delete(link);
    this.welcome(id);
    for (const listener of [...this.listeners]) listener.onLeave?.(id);
  }

  /** A worker that was said hello to has answered, or never will. */
  private welcome(id: number): void {
    this.welcomed.get(id)?.();
    this.welcomed.delete(id);
  }

  private giveUp(socket: Socket): void {
    socket.destroy();
    const [id, link] = [...this.links].find(([, link]) => link.socket === socket) ?? [];
    if (id === undefined) return;
    // Messages that it still sends must not be delivered.
    for (const [incoming, from] of this.incoming) if (from === id) incoming.destroy();
    this.onStuck(id);
    this.onGone(id, link!);
  }

  /** An exception must not prevent the delivery of what came in the same chunk. */
  private deliver(from: number, envelope: Envelope): void {
    try {
      for (const listener of this.listeners) listener.onMessage?.(from, envelope);
    } catch (error) {
      reportFailure('handling a message of another worker', error);
    }
  }

  private accept(socket: Socket): void {
    this.incoming.set(socket.unref(), undefined);
    let from: number | undefined;
    const stream = new EnvelopeStream(
      (envelope) => {
        if (from !== undefined) return this.deliver(from, envelope);
        const { type, sender } = envelope;
        if (type !== types.hello && type !== types.welcome) return socket.destroy();
        from = sender;
        this.incoming.set(socket, from);
        if (type === types.hello) this.link(from, types.welcome);
        else this.welcome(from);
        for (const listener of [...this.listeners]) listener.onJoin?.(from);
      },
      (error) => {
        if (from === undefined) socket.destroy();
        else thisProcess.reports.malformed('mesh', (error as Error).message);
      },
    );
    socket.on('data', (chunk) => {
      if (!socket.destroyed) stream.push(chunk);
    });
    socket.on('error', () => {});
    socket.on('close', () => this.incoming.delete(socket));
  }
}

/** What a worker or a hub needs of its mesh. */
export type MeshLinks = Pick<Mesh, 'id' | 'members' | 'has' | 'send' | 'flush' | 'on' | 'close'>;
