import type { Socket } from 'socket.io';
import { packetStepsOf } from '../../compat/socket-io.js';
import type { NativeWebSocket } from '../../engine/http/exchange.js';
import { Session } from '../../engine/session/session.js';
import type { EncodedPackets } from '../../rooms/encoded-packet.js';

/** A client of a room, of any kind. */
export interface StateReader {
  /** Its WebSocket, if topics reach it at present. */
  readonly topicSocket: NativeWebSocket | undefined;
  /** Bytes that wait for it. */
  readonly bufferedAmount: number;
  /** Sends messages to it alone, in order. */
  send(messages: EncodedPackets): void;
}

/** A socket of socket.io. */
export class SocketReader implements StateReader {
  constructor(private readonly socket: Socket) {}

  get topicSocket(): NativeWebSocket | undefined {
    const { session } = this;
    return session?.readyState === 'open' && !session.upgrading ? session.transport.nativeSocket : undefined;
  }

  get bufferedAmount(): number {
    return this.session?.bufferedAmount ?? 0;
  }

  send(messages: EncodedPackets): void {
    packetStepsOf(this.socket).client.writeToEngine(messages, {});
  }

  /** Undefined if the engine is not gjallar's: nothing is known then of what waits. */
  private get session(): Session | undefined {
    const conn = this.socket.conn as unknown;
    return conn instanceof Session ? conn : undefined;
  }
}
