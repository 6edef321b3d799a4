import type { DeadlineQueue, Waiting } from './deadlines.js';
import {
  type Packet,
  type PacketData,
  type PacketOptions,
  type PacketType,
  type SendData,
  toPacketData,
} from './packet.js';
import { UpgradeProbe } from './probe.js';
import type { EngineRequest } from './request.js';
import { SlotEmitter } from './slot-emitter.js';
import type { PollingTransport } from './transports/polling.js';
import { nobody, type Protocol, type Transport, type TransportOwner } from './transports/transport.js';
import type { WebSocketTransport } from './transports/websocket.js';

/**
 * Why a session ended; the first argument of its `close` event, and of a Socket.IO socket's `disconnect` event.
 * The reasons are engine.io's.
 */
export type CloseReason = 'transport close' | 'transport error' | 'ping timeout' | 'parse error' | 'forced close';

/** What a session needs of its engine. */
export interface SessionHost {
  readonly settings: {
    readonly pingInterval: number;
    readonly pingTimeout: number;
    readonly upgradeTimeout: number;
    readonly initialPacket: string | Buffer | undefined;
  };
  /** Sessions that are to be pinged next. */
  readonly pingQueue: DeadlineQueue<Session>;
  /** Sessions whose client has to answer a ping. */
  readonly silenceQueue: DeadlineQueue<Session>;
  /** Sessions of revision 3, whose client has to send a ping. */
  readonly silenceQueueV3: DeadlineQueue<Session>;
  /** What follows the session's id in the JSON of its `open` packet. */
  openingFor(transport: Transport): string;
  onSessionClosed(session: Session): void;
  onSessionUpgraded(session: Session): void;
  /** Whether somebody listens to `flush` or `drain` of all sessions. */
  readonly isWatchingPackets: boolean;
  emit(event: string, ...values: unknown[]): boolean;
}

export type SendCallback = (transport: Transport) => void;

/**
 * One Engine.IO session: what socket.io calls `conn`.
 *
 * Events: `data` and `message` (payload), `packet` (received), `packetCreate` (about to be sent), `flush` (write
 * buffer), `drain`, `heartbeat`, `upgrading`, `upgrade` (transport), `close` (reason, description).
 * Source: Engine.IO v4; the surface is that of engine.io's Socket.
 */
export class Session extends SlotEmitter implements TransportOwner, Waiting<Session> {
  readyState: 'open' | 'closing' | 'closed' = 'open';
  transport: Transport;
  /** The upgrade that is being tried. */
  probe: UpgradeProbe | undefined = undefined;

  queue: DeadlineQueue<Session> | undefined = undefined;
  due = 0;
  previous: Session | undefined = undefined;
  next: Session | undefined = undefined;

  private buffer: Packet[] | undefined = undefined;
  private callbacks: SendCallback[] | undefined = undefined;

  /**
   * @param id known to nobody but this client
   * @param request the handshake's request
   */
  constructor(
    readonly id: string,
    private readonly host: SessionHost,
    transport: Transport,
    readonly request: EngineRequest,
  ) {
    super();
    this.transport = transport;
    transport.owner = this;
  }

  get protocol(): Protocol {
    return this.transport.protocol;
  }

  /** Packets that wait for a transport which can take them. */
  get writeBuffer(): Packet[] {
    this.buffer ??= [];
    return this.buffer;
  }

  /** Whether the session has moved from polling to WebSocket. */
  get upgraded(): boolean {
    return this.transport.name === 'websocket' && this.request?._query.transport === 'polling';
  }

  /** The client's address, as long as nobody has deleted the request to save its memory. */
  get remoteAddress(): string {
    return this.request?.connection.remoteAddress ?? '';
  }

  get upgrading(): boolean {
    return this.probe !== undefined;
  }

  /** Sends the handshake's packets and starts the heartbeat. Source: Engine.IO v4, "Handshake". */
  open(): void {
    const { settings } = this.host;
    this.sendPacket('open', `{"sid":${JSON.stringify(this.id)},${this.host.openingFor(this.transport)}`);
    if (settings.initialPacket) this.sendPacket('message', settings.initialPacket);
    this.startHeartbeat();
  }

  startHeartbeat(): void {
    // In revision 4 the server sends pings; in revision 3 the client did.
    if (this.protocol === 4) this.host.pingQueue.add(this);
    else this.host.silenceQueueV3.add(this);
  }

  /**
   * Sends a message. `callback`, which may also come second, is called when the message has left for the transport.
   * Nothing (`null`) makes an empty message.
   */
  send(data: SendData, options?: PacketOptions | SendCallback, callback?: SendCallback): this {
    const payload = typeof data === 'string' || Buffer.isBuffer(data) ? data : toPacketData(data);
    if (typeof options === 'function') this.sendPacket('message', payload, undefined, options);
    else this.sendPacket('message', payload, options, callback);
    return this;
  }

  /** The same as {@link send}. */
  write(data: SendData, options?: PacketOptions | SendCallback, callback?: SendCallback): this {
    return this.send(data, options, callback);
  }

  /** The callbacks of packets that wait, under engine.io's name. */
  get packetsFn(): readonly SendCallback[] {
    return this.callbacks ?? [];
  }

  /** The callbacks of packets that the transport still has, under engine.io's name: here it never keeps any. */
  get sentCallbackFn(): readonly SendCallback[] {
    return [];
  }

  private sendPacket(type: PacketType, data?: PacketData, options = defaultOptions, callback?: SendCallback): void {
    if (this.readyState !== 'open') return;
    const isWatched = this.isObserved || this.host.isWatchingPackets;
    if (!isWatched && !callback && !this.buffer && this.transport.canSend) {
      // What nearly all packets are: nobody looks, nothing waits.
      this.transport.sendOne(type, data, options);
      return;
    }
    const packet: Packet = { type, data, options };
    if (isWatched) {
      packet.options = { ...options, compress: options.compress !== false };
      this.emit('packetCreate', packet);
    }
    this.writeBuffer.push(packet);
    if (callback) {
      this.callbacks ??= [];
      this.callbacks.push(callback);
    }
    this.flush();
  }

  /** Hands what waits to the transport, if it can take it. */
  flush(): void {
    const packets = this.buffer;
    if (this.readyState === 'closed' || !packets || !this.transport.canSend) return;
    if (packets.length === 0) return;
    this.emit('flush', packets);
    this.host.emit('flush', this, packets);
    this.buffer = undefined;
    this.transport.send(packets);
    this.emit('drain');
    this.host.emit('drain', this);
  }

  /** The client did not answer in time, or it is time to ask. Called by the heartbeat queues. */
  onDeadline(silent: boolean): void {
    if (silent) return this.onSessionClose('ping timeout');
    const { due } = this;
    this.sendPacket('ping');
    if (this.readyState !== 'closed') this.host.silenceQueue.add(this, due);
  }

  onPacket(_transport: Transport, type: PacketType, data: PacketData | undefined): boolean {
    if (this.readyState !== 'open') return false;
    if (this.isObserved) this.emit('packet', { type, data });
    switch (type) {
      case 'message':
        this.emit('data', data ?? '');
        if (this.isObserved) this.emit('message', data ?? '');
        return true;
      case 'ping':
        if (this.protocol === 4) return this.invalid();
        this.host.silenceQueueV3.add(this);
        this.sendPacket('pong');
        this.emit('heartbeat');
        return true;
      case 'pong':
        if (this.protocol === 3) return this.invalid();
        this.host.pingQueue.add(this);
        this.emit('heartbeat');
        return true;
      default:
        return true;
    }
  }

  private invalid(): boolean {
    this.onSessionClose('transport error', new Error('invalid heartbeat direction'));
    return false;
  }

  onReady(): void {
    this.flush();
  }

  onDrain(transport: Transport): void {
    const { callbacks } = this;
    this.callbacks = undefined;
    for (const callback of callbacks ?? []) callback(transport);
  }

  onError(_transport: Transport, message: string, description?: unknown): void {
    if (message === 'parse error') this.onSessionClose('parse error');
    else
      this.onSessionClose(
        'transport error',
        Object.assign(new Error(message), { type: 'TransportError', description }),
      );
  }

  onClose(_transport: Transport, description?: unknown): void {
    this.onSessionClose('transport close', description);
  }

  /** Starts to try whether the client can move to a WebSocket. */
  probeUpgrade(candidate: WebSocketTransport): void {
    this.probe = new UpgradeProbe(this, candidate, this.host.settings.upgradeTimeout);
  }

  /** Moves to the transport that was probed. */
  upgradeTo(transport: Transport): void {
    const before = this.polling;
    this.transport.owner = nobody;
    before?.leave();
    this.transport = transport;
    transport.owner = this;
    this.host.onSessionUpgraded(this);
    this.emit('upgrade', transport);
    this.flush();
    if (this.readyState === 'closing') transport.close(() => this.onSessionClose('forced close'));
  }

  /** The polling transport, as long as the session is on it. */
  get polling(): PollingTransport | undefined {
    return this.transport.name === 'polling' ? (this.transport as PollingTransport) : undefined;
  }

  /**
   * Closes the session, after what it has to send has been sent.
   * @param discard closes at once, and gives up what was to be sent
   */
  close(discard = false): void {
    if (discard && this.readyState !== 'closed') return this.closeTransport(true);
    if (this.readyState !== 'open') return;
    this.readyState = 'closing';
    if (this.buffer && this.buffer.length > 0) this.once('drain', () => this.closeTransport(false));
    else this.closeTransport(false);
  }

  private closeTransport(discard: boolean): void {
    if (discard) this.transport.discard();
    this.transport.close(() => this.onSessionClose('forced close'));
  }

  /** Ends the session here without a word: it goes on elsewhere. */
  moveAway(): void {
    this.readyState = 'closed';
    this.queue?.remove(this);
    this.transport.owner = nobody;
    this.host.onSessionClosed(this);
  }

  private onSessionClose(reason: CloseReason, description?: unknown): void {
    if (this.readyState === 'closed') return;
    this.readyState = 'closed';
    this.queue?.remove(this);
    this.probe?.end();
    this.callbacks = undefined;
    // The buffer can still be read in the 'close' event.
    process.nextTick(() => {
      this.buffer = undefined;
    });
    const { transport } = this;
    transport.owner = nobody;
    // The session cannot be found any more, so there is no next poll to wait for.
    transport.discard();
    transport.close();
    this.host.onSessionClosed(this);
    this.emit('close', reason, description);
  }
}

const defaultOptions: PacketOptions = Object.freeze({ compress: true });
