import type { Namespace } from 'socket.io';
import {
  Adapter,
  type BroadcastOptions,
  ClusterAdapterWithHeartbeat,
  type ClusterMessage,
  type ClusterResponse,
  MessageType,
} from 'socket.io-adapter';
import { decoderOf, namespaceOf } from '../../../compat/socket-io.js';
import type { WorkerLinks } from '../../../worker-links.js';
import { EncodedPacket, type EncodedPackets } from '../../encoded-packet.js';
import type { Backplane, BackplaneEvents } from '../backplane.js';
import { Inbox } from '../inbox.js';
import { localFirst } from '../local-first.js';
import { type BroadcastFrame, decodeFrame, decodePackets, encodeBroadcast, encodeMessage } from './codec.js';

/** The embedded backplane: connects the workers of one machine without another server. */
export function embeddedBackplane(links: WorkerLinks, events?: Pick<BackplaneEvents, 'onMalformed'>): Backplane {
  const adapters = new Map<string, EmbeddedAdapter>();
  const inbox = new Inbox(events);
  links.onMessage((_from, payload) => {
    let decoded: ReturnType<typeof decodeFrame>;
    inbox.receive(
      () => {
        decoded = decodeFrame(payload);
        return decoded.isForApplication;
      },
      () => adapters.get(decoded.frame.nsp)?.receive(decoded.frame),
    );
  });
  links.onLeave((id) => {
    for (const adapter of adapters.values()) adapter.workerGone(id);
  });
  return {
    name: 'embedded',
    factory: (nsp) => localFirst(new EmbeddedAdapter(nsp, links, adapters)),
    ready: () => Promise.resolve(),
    traffic: {
      ...{ isUp: true, unsent: 0, outages: 0, pendingBytes: 0 },
      get malformed() {
        return inbox.malformed;
      },
    },
    close: () => {},
  };
}

interface Packet {
  type: number;
  nsp: string;
  data: unknown[];
}

class EmbeddedAdapter extends ClusterAdapterWithHeartbeat {
  /** The broadcast that `localFirst` delivers here next. It was encoded for the other workers just before. */
  private encoded: EncodedPacket | undefined;

  constructor(
    nsp: Namespace,
    private readonly links: WorkerLinks,
    private readonly adapters: Map<string, EmbeddedAdapter>,
  ) {
    super(nsp, {});
    // When a link breaks, the worker's id names the worker that is gone. The base class's random id would not.
    Object.assign(this, { uid: uidOf(links.id) });
    adapters.set(nsp.name, this);
  }

  override close(): void {
    super.close();
    this.adapters.delete(this.nsp.name);
  }

  receive(frame: BroadcastFrame | ClusterMessage | ClusterResponse): void {
    // The base class tells requests and responses apart by their type.
    if (!('encoded' in frame)) return this.onMessage(frame as ClusterMessage);
    const { encoded, opts, packetType, uid, nsp } = frame;
    // A sender omits its heartbeats while it sends messages.
    this.onMessage({ type: MessageType.HEARTBEAT, uid, nsp });
    const Decoder = decoderOf(namespaceOf(this).server);
    const packet = new EncodedPacket(packetType, nsp, encoded, () => decodePackets(encoded, Decoder));
    const options = { rooms: new Set(opts.rooms), except: new Set(opts.except), flags: opts.flags };
    Adapter.prototype.broadcast.call(this, packet, options);
  }

  /** Ends all waiting for answers of that worker. */
  workerGone(id: number): void {
    this.onMessage({ type: MessageType.ADAPTER_CLOSE, uid: uidOf(id), nsp: this.nsp.name });
  }

  override broadcast(packet: unknown, options: BroadcastOptions): Promise<void> {
    const local = this.encoded ?? packet;
    this.encoded = undefined;
    return super.broadcast(local, options);
  }

  protected override doPublish(message: ClusterMessage): Promise<string> {
    if (this.links.members.length > 0) this.links.broadcast(this.encode(message));
    return Promise.resolve('');
  }

  protected override doPublishResponse(requester: string, response: ClusterResponse): Promise<void> {
    this.links.send(Number(requester), encodeMessage(response));
    return Promise.resolve();
  }

  private encode(message: ClusterMessage): Buffer {
    // A packet with an acknowledgement gets an id of its own from each worker.
    if (message.type !== MessageType.BROADCAST || message.data.requestId !== undefined) return encodeMessage(message);
    const packet = message.data.packet as Packet;
    packet.nsp = this.nsp.name;
    const encoded = this.nsp.server.encoder.encode(packet as never) as EncodedPackets;
    this.encoded = new EncodedPacket(packet.type, packet.nsp, encoded, () => packet.data);
    const { nsp, uid, data } = message;
    return encodeBroadcast({ nsp, uid, packetType: packet.type, opts: data.opts, encoded });
  }
}

function uidOf(worker: number): string {
  return String(worker);
}
