import { nextTick } from '../../base/clock.js';
import { raise } from '../../base/owner.js';
import { type CloseReason, closeErrors } from '../counters.js';
import type { DeadlineQueue, Waiting } from '../deadlines.js';
import type { Engine } from '../engine.js';
import type { EngineRequest } from '../http/request.js';
import type { IncompletePackets, PacketOwner } from '../incoming/incomplete-packets.js';
import type { CountedClient } from '../limits/address-limits.js';
import type { LimitedClient, MessageLimits } from '../limits/rates.js';
import type { PacketData, PacketType } from '../protocol/packet.js';
import type { PollingTransport } from '../transports/polling.js';
import { nobody, type Protocol, type Transport, type TransportOwner } from '../transports/transport.js';
import type { WebSocketTransport } from '../transports/websocket.js';
import { PacketSender } from './packet-sender.js';
import { UpgradeProbe } from './upgrade-probe.js';

/**
 * One Engine.IO session: what socket.io calls `conn`.
 *
 * Events: `data` and `message` (payload), `packet` (received), `packetCreate` (about to be sent), `flush` (write
 * buffer), `drain`, `heartbeat`, `upgrading`, `upgrade` (transport), `close` (reason, description).
 * Source: Engine.IO v4; the surface is that of engine.io's Socket.
 */
export class Session
  extends PacketSender
  implements TransportOwner, PacketOwner, Waiting<Session>, LimitedClient, CountedClient
{
  /** The upgrade in progress. */
  probe: UpgradeProbe | undefined = undefined;

  queue: DeadlineQueue<Session> | undefined = undefined;
  due = 0;
  previous: Session | undefined = undefined;
  next: Session | undefined = undefined;

  left: LimitedClient['left'] = undefined;
  countedAs: string | undefined = undefined;

  /**
   * @param id a secret that only this client knows
   * @param request the handshake's request
   */
  constructor(
    readonly id: string,
    host: Engine,
    transport: Transport,
    readonly request: EngineRequest,
  ) {
    super(host, transport);
    transport.owner = this;
  }

  /** The engine, under its name in engine.io. */
  get server(): Engine {
    return this.host;
  }

  get protocol(): Protocol {
    return this.transport.protocol;
  }

  /** Whether the session has moved from polling to WebSocket. */
  get upgraded(): boolean {
    return this.transport.name === 'websocket' && this.request?._query.transport === 'polling';
  }

  /**
   * The client's address; empty if the application has deleted the request to save memory. On a Unix socket it is
   * undefined, as in engine.io.
   */
  get remoteAddress(): string {
    return this.request ? this.request.connection.remoteAddress : '';
  }

  get upgrading(): boolean {
    return this.probe !== undefined;
  }

  /** Sends the handshake's packets and starts the heartbeat. Source: Engine.IO v4, "Handshake". */
  open(): void {
    const { settings, counters } = this.host;
    counters.opened++;
    this.sendPacket('open', `{"sid":${JSON.stringify(this.id)},${this.host.openingFor(this.transport)}`);
    if (settings.initialPacket) this.sendPacket('message', settings.initialPacket);
    this.startHeartbeat();
  }

  startHeartbeat(): void {
    // In revision 4 the server sends pings; in revision 3 the client did.
    if (this.protocol === 4) this.host.pingQueue.add(this);
    else this.host.silenceQueueV3.add(this);
  }

  /** Called by the heartbeat queues: the client did not answer in time, or the next ping is due. */
  onDeadline(silent: boolean): void {
    if (silent) return this.onSessionClose('ping timeout');
    this.sendPing();
    if (this.readyState !== 'closed') this.host.silenceQueue.add(this, this.due);
  }

  sendPing(): void {
    this.host.roundTrips.sent(this);
    this.sendPacket('ping');
  }

  onPacket(_transport: Transport, type: PacketType, data: PacketData | undefined): boolean {
    if (this.readyState !== 'open') return false;
    const { messageLimits } = this.host;
    if (messageLimits && !this.isAccepted(messageLimits, data)) return false;
    if (this.isObserved) this.emit('packet', { type, data });
    // As in engine.io, what comes before the answer to a ping extends the time for it, once.
    if (this.queue === this.host.silenceQueue && type !== 'pong') this.host.lastSilenceQueue.add(this);
    switch (type) {
      case 'message':
        this.host.counters.received++;
        if (this.host.talkers.isDue()) this.host.talkers.add(this.remoteAddress ?? '');
        this.host.sender = this;
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
        this.host.roundTrips.answered(this);
        this.emit('heartbeat');
        return true;
      default:
        return true;
    }
  }

  private isAccepted(limits: MessageLimits, data: PacketData | undefined): boolean {
    const outcome = limits.consume(this, data);
    if (outcome === 'within') return true;
    this.host.counters.overLimit++;
    if (outcome === 'over') return true;
    this.onSessionClose('rate limit');
    return false;
  }

  /** Whether the client has sent more than `rateLimit` allows, so its last message should be rejected. */
  get isOverLimit(): boolean {
    return this.host.messageLimits?.isOver(this) ?? false;
  }

  private invalid(): boolean {
    this.onSessionClose('transport error', new Error('invalid heartbeat direction'));
    return false;
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

  onOverflow(): void {
    this.onSessionClose('slow client');
  }

  onFlood(): void {
    this.onSessionClose('rate limit');
  }

  /** The packets of which some attachments are missing. */
  get incompletePackets(): IncompletePackets {
    return this.host.incompletePackets;
  }

  /** How large the `auth` of a CONNECT packet may be, in bytes. */
  get maxAuthSize(): number {
    return this.host.settings.maxAuthSize;
  }

  giveUp(reason: 'packet too large' | 'incomplete packet' | 'too many rooms'): void {
    this.onSessionClose(reason);
  }

  /** The client has made no request since its handshake. */
  onUnused(): void {
    this.onSessionClose('ping timeout');
  }

  /** Starts the probe of an upgrade to a WebSocket. */
  probeUpgrade(candidate: WebSocketTransport): void {
    this.probe = new UpgradeProbe(this, candidate, this.host.settings.upgradeTimeout);
  }

  /** Changes to the probed transport. */
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

  /** Whether closing the session now interrupts no upgrade and no request of the client. */
  get isQuiet(): boolean {
    return !this.upgrading && (this.polling?.isQuiet ?? true);
  }

  /** The polling transport while the session is on it. */
  get polling(): PollingTransport | undefined {
    return this.transport.name === 'polling' ? (this.transport as PollingTransport) : undefined;
  }

  /**
   * Closes the session after the waiting packets have been sent.
   * @param discard closes at once, and drops the waiting packets
   */
  close(discard = false): void {
    if (!discard) return this.endWhenSent('close');
    if (this.readyState === 'closed') return;
    this.transport.discard();
    this.end('close');
  }

  /** Ends the session after the waiting packets have been sent, so that its client reconnects. */
  dismiss(): void {
    this.endWhenSent('dismiss');
  }

  private endWhenSent(how: 'close' | 'dismiss'): void {
    if (this.readyState !== 'open') return;
    this.readyState = 'closing';
    if (this.buffer && this.buffer.length > 0) this.once('drain', () => this.end(how));
    else this.end(how);
  }

  private end(how: 'close' | 'dismiss'): void {
    this.transport[how](() => this.onSessionClose('forced close'));
  }

  /** Whether it could go on on another worker now: nothing of it is in progress here. */
  get canLeave(): boolean {
    const { protocol, readyState, upgrading, transport } = this;
    return protocol === 4 && readyState === 'open' && !upgrading && this.mayLeaveWith(transport) && transport.canLeave;
  }

  /** Ends the session here, because it goes on on another worker. What the application still sends does not reach the client. */
  leave(): void {
    this.release();
    this.host.counters.closed.moved++;
    this.callbacks = undefined;
    this.host.onSessionClosed(this);
    try {
      this.emit('close', 'moved');
      this.request?.emit('close');
    } catch (error) {
      // The connection must go on elsewhere all the same.
      raise(error);
    }
  }

  /** Ends the session here silently, because it continues on another worker. */
  moveAway(): void {
    this.release();
    this.host.onSessionClosed(this);
  }

  private release(): void {
    this.readyState = 'closed';
    this.queue?.remove(this);
    this.transport.owner = nobody;
  }

  private onSessionClose(reason: CloseReason, description?: unknown): void {
    if (this.readyState === 'closed') return;
    this.release();
    this.host.counters.closed[reason]++;
    this.probe?.end();
    this.callbacks = undefined;
    // Listeners of the `close` event can still read the buffer.
    nextTick(() => {
      this.buffer = undefined;
    });
    const { transport } = this;
    // The session is no longer registered, so no further poll can reach it.
    transport.discard();
    transport.close(undefined, closeErrors[reason]);
    this.host.onSessionClosed(this);
    if (closeErrors[reason]) this.host.emit('limit', this, reason);
    this.emit('close', reason, description);
    // Applications may delete it to save its memory.
    this.request?.emit('close');
  }
}
