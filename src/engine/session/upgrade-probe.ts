import { clearTimeout, setTimeout } from '../../base/clock.js';
import type { PacketData, PacketType } from '../protocol/packet.js';
import type { Transport, TransportOwner } from '../transports/transport.js';
import type { WebSocketTransport } from '../transports/websocket.js';

/** The parts of a session that its probe uses. */
export interface ProbedSession {
  readonly id: string;
  readonly readyState: 'open' | 'closing' | 'closed';
  readonly polling: { endPollsSoon(isOn: boolean): void } | undefined;
  probe: UpgradeProbe | undefined;
  upgradeTo(transport: Transport): void;
  emit(event: string, ...values: unknown[]): boolean;
}

/**
 * The upgrade of a session from HTTP long-polling to WebSocket. Source: Engine.IO v4, "Upgrade".
 *
 * ```
 * CLIENT                                                 SERVER
 *   │  GET /socket.io/?transport=websocket&sid=…  (101)    │   the candidate is open, polling continues
 *   │  ws:   2probe                                        │
 *   │ ───────────────────────────────────────────────────▶ │
 *   │                                        ws:   3probe  │
 *   │ ◀─────────────────────────────────────────────────── │
 *   │  the last poll                               http: 6 │   a noop ends the waiting poll
 *   │ ◀─────────────────────────────────────────────────── │
 *   │  ws:   5                                             │   the candidate becomes the transport
 *   │ ───────────────────────────────────────────────────▶ │
 * ```
 */
export class UpgradeProbe implements TransportOwner {
  private readonly timer: NodeJS.Timeout;

  /** @param timeout how long the client may take for the whole upgrade, in ms */
  constructor(
    private readonly session: ProbedSession,
    private readonly candidate: WebSocketTransport,
    timeout: number,
  ) {
    candidate.owner = this;
    this.timer = setTimeout(() => this.fail(), timeout);
  }

  get id(): string {
    return this.session.id;
  }

  onPacket(_transport: Transport, type: PacketType, data: PacketData | undefined): boolean {
    if (type === 'ping' && data === 'probe') {
      this.candidate.send([{ type: 'pong', data: 'probe' }]);
      this.session.emit('upgrading', this.candidate);
      this.session.polling?.endPollsSoon(true);
    } else if (type === 'upgrade' && this.session.readyState !== 'closed') {
      this.stop();
      this.session.upgradeTo(this.candidate);
    } else {
      this.fail();
    }
    return true;
  }

  onReady(): void {}

  onProgress(): void {}

  onOverflow(): void {
    this.fail();
  }

  onFlood(): void {
    this.fail();
  }

  onDrain(): void {}

  onError(): void {
    this.fail();
  }

  onClose(): void {
    this.stop();
  }

  /** The session has ended. */
  end(): void {
    this.fail();
  }

  private fail(): void {
    this.stop();
    this.candidate.close();
  }

  private stop(): void {
    clearTimeout(this.timer);
    this.session.probe = undefined;
    this.session.polling?.endPollsSoon(false);
  }
}
