import { rmSync } from 'node:fs';
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { nextTick, setImmediate } from '../../base/clock.js';
import { MalformedMessage } from '../../base/errors.js';
import { reportFailure } from '../../base/owner.js';
import { type MalformedSource, thisProcess } from '../../base/process.js';
import { socketOf } from '../protocol.js';
import { FrameReader, frame, SlowPeerDetector } from './framing.js';

/** The kinds of messages between workers. Each part of a kind has one listener. */
export const kinds = {
  hello: 0,
  welcome: 1,
  bus: 2,
  relay: 3,
  hub: 9,
} as const;
export type Kind = (typeof kinds)[keyof typeof kinds];

/** The largest number of a part. */
export const MAX_PART = 255;

/** The number of the hub of a machine. It is no member: what is for all workers does not go to it. */
export const HUB = 0;

/** What reports call them. */
const sources: { [kind in Kind]?: MalformedSource } = {
  [kinds.relay]: 'relay',
};

/** The length of a greeting: the id of its sender. */
const GREETING = 3;

/** May throw a MalformedMessage, which is then reported. */
export type MeshListener = (from: number, payload: Buffer) => void;

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
  private readonly links = new Map<number, Socket>();
  private readonly welcomed = new Map<number, () => void>();
  private readonly listeners = new Map<number, MeshListener>();
  private readonly leaveListeners: ((id: number) => void)[] = [];
  /** Links from other workers. The value is the worker's id once its greeting has arrived. */
  private readonly incoming = new Map<Socket, number | undefined>();
  private readonly slowPeers = new SlowPeerDetector((link) => this.giveUp(link));
  private server: Server | undefined;
  /** Called when the hub of this machine is there, and when it is gone. */
  onHub: (isThere: boolean) => void = () => {};
  /** Called with each worker that links to this one after it has joined. */
  onJoin: (id: number) => void = () => {};
  /** Called when a message from another worker is dropped because it is malformed. */
  onMalformed: (kind: Kind, reason: string) => void = () => {};

  /**
   * @param id this worker's id, unique for the lifetime of the primary
   * @param directory where the workers' sockets are
   * @param onStuck called with the id of a worker that does not read its messages. This worker treats it as gone, but
   *   the other one does not know that, so it must be killed.
   */
  constructor(
    readonly id: number,
    private readonly directory: string,
    private readonly onStuck: (id: number) => void = () => {},
  ) {}

  /** The ids of the other workers that are linked. */
  get members(): number[] {
    return [...this.links.keys()].filter((id) => id !== HUB);
  }

  /** Bytes that the other workers have not read yet. */
  get pendingBytes(): number {
    let bytes = 0;
    for (const link of this.links.values()) bytes += link.writableLength;
    return bytes;
  }

  has(id: number): boolean {
    return this.links.has(id);
  }

  /** Starts to accept links. */
  listen(): Promise<void> {
    // What keeps a worker alive is its channel to the primary.
    this.server = createServer((socket) => this.accept(socket)).unref();
    // When the primary is killed, the cluster module ends the worker at once.
    process.once('exit', this.removeSocket);
    return new Promise((resolve, reject) => {
      this.server!.once('error', reject);
      // Exclusive, so that the primary does not accept the links, and its death causes no error here.
      this.server!.listen({ path: this.pathOf(this.id), exclusive: true }, resolve);
    });
  }

  /** Links with the running workers. A worker that has died meanwhile is ignored. */
  async join(others: readonly number[]): Promise<void> {
    await Promise.all(
      others.map(
        (id) =>
          new Promise<void>((resolve) => {
            this.welcomed.set(id, resolve);
            this.link(id, kinds.hello);
          }),
      ),
    );
  }

  /** @param part the number of the Socket.IO server, or of the engine, the same on all workers */
  listenTo(kind: Kind, listener: MeshListener, part = 0): void {
    this.listeners.set(keyOf(kind, part), listener);
  }

  /** Calls back with the id of each worker that is gone. */
  onLeave(listener: (id: number) => void): void {
    this.leaveListeners.push(listener);
  }

  /** Sends to one worker. Returns false when there is no such worker. */
  send(to: number, kind: Kind, payload: Uint8Array, part = 0): boolean {
    const link = this.links.get(to);
    if (!link) return false;
    this.write(link, frame(kind, payload, part));
    return true;
  }

  /** Hands to the system what was sent in this turn. It arrives, whatever happens to this worker next. */
  flush(): void {
    for (const link of this.links.values()) if (link.writableCorked > 0) link.uncork();
  }

  close(): void {
    this.leaveListeners.length = 0;
    this.server?.close();
    this.slowPeers.close();
    for (const socket of [...this.links.values(), ...this.incoming.keys()]) socket.destroy();
    this.links.clear();
    process.off('exit', this.removeSocket);
    this.removeSocket();
  }

  private readonly removeSocket = (): void => {
    rmSync(this.pathOf(this.id), { force: true });
  };

  private pathOf(id: number): string {
    return socketOf(this.directory, id);
  }

  private link(id: number, greeting: Kind): void {
    const socket = createConnection(this.pathOf(id)).unref();
    this.links.set(id, socket);
    socket.on('error', () => {});
    // A link back may still wait to be accepted.
    socket.on('close', () => setImmediate(() => this.onClosed(id, socket)));
    // No data arrives on this link. Reading it is how its end is noticed.
    socket.resume();
    this.write(socket, frame(greeting, Buffer.of(this.id & 0xff, (this.id >> 8) & 0xff, (this.id >> 16) & 0xff)));
  }

  /** The worker is gone once all that it has sent is read. That comes on another connection. */
  private onClosed(id: number, link: Socket): void {
    if (this.links.get(id) !== link) return;
    const mayBeUnread = (from: number | undefined) => from === id || (from === undefined && this.welcomed.has(id));
    const [unread, from] = [...this.incoming].find(([socket, from]) => !socket.destroyed && mayBeUnread(from)) ?? [];
    if (!unread) return this.onGone(id, link);
    const again = () => this.onClosed(id, link);
    unread.once('close', again);
    if (from === undefined) unread.once('data', again);
  }

  private onGone(id: number, link: Socket): void {
    if (this.links.get(id) !== link) return;
    this.links.delete(id);
    this.welcome(id);
    if (id === HUB) return this.onHub(false);
    for (const listener of [...this.leaveListeners]) listener(id);
  }

  /** A worker that was said hello to has answered, or never will. */
  private welcome(id: number): void {
    this.welcomed.get(id)?.();
    this.welcomed.delete(id);
  }

  private joined(id: number): void {
    if (id === HUB) this.onHub(true);
    else this.onJoin(id);
  }

  private giveUp(link: Socket): void {
    link.destroy();
    const [id] = [...this.links].find(([, socket]) => socket === link) ?? [];
    if (id === undefined) return;
    // Messages that it still sends must not be delivered.
    for (const [incoming, from] of this.incoming) if (from === id) incoming.destroy();
    this.onStuck(id);
    this.onGone(id, link);
  }

  /** Everything written in one tick goes out in one write. */
  private write(socket: Socket, message: Buffer): void {
    if (socket.writableCorked === 0) {
      socket.cork();
      nextTick(() => socket.uncork());
    }
    socket.write(message);
    this.slowPeers.check(socket);
  }

  /** An exception must not prevent the delivery of the messages that came in the same chunk. */
  private deliver(kind: Kind, part: number, from: number, payload: Buffer): void {
    try {
      this.listeners.get(keyOf(kind, part))?.(from, payload);
    } catch (error) {
      if (error instanceof MalformedMessage) {
        return thisProcess.reports.malformed(sources[kind] ?? 'mesh', error.message);
      }
      reportFailure('handling a message of another worker', error);
    }
  }

  private accept(socket: Socket): void {
    this.incoming.set(socket.unref(), undefined);
    let from: number | undefined;
    const reader = new FrameReader((kind, payload, part) => {
      if (from === undefined) {
        if (payload.length !== GREETING || (kind !== kinds.hello && kind !== kinds.welcome)) return socket.destroy();
        from = payload.readUIntLE(0, 3);
        this.incoming.set(socket, from);
        if (kind === kinds.hello) this.link(from, kinds.welcome);
        else this.welcome(from);
        return this.joined(from);
      }
      this.deliver(kind as Kind, part, from, payload);
    });
    socket.on('data', (chunk) => {
      if (!socket.destroyed) reader.push(chunk);
    });
    socket.on('error', () => {});
    socket.on('close', () => this.incoming.delete(socket));
  }
}

const keyOf = (kind: number, part: number): number => part + 256 * kind;

/** What a worker needs of its mesh. */
export type MeshLinks = Pick<Mesh, 'id' | 'members' | 'has' | 'send' | 'flush' | 'listenTo' | 'onLeave'>;
