import { deserialize, serialize } from 'node:v8';
import type { Namespace } from 'socket.io';
import {
  type BroadcastOptions,
  ClusterAdapterWithHeartbeat,
  type ClusterMessage,
  type ClusterResponse,
  MessageType,
} from 'socket.io-adapter';
import type { AdapterFactory } from '../native-rooms.js';

/** Carries messages between the workers of one machine, each in the order in which its sender sent it. */
export interface WorkerLinks {
  /** This worker's id. */
  readonly id: number;
  /** The ids of the other workers. */
  readonly members: readonly number[];
  /** Sends to one other worker. */
  send(to: number, payload: Uint8Array): void;
  /** Sends to all other workers. */
  broadcast(payload: Uint8Array): void;
  onMessage(listener: (from: number, payload: Buffer) => void): void;
  /** Calls back with the id of each worker that has gone. */
  onLeave(listener: (id: number) => void): void;
}

type Message = ClusterMessage | ClusterResponse;

/** The embedded bus: joins the workers of one machine without any other server. */
export function embeddedBus(links: WorkerLinks): AdapterFactory {
  const adapters = new Map<string, EmbeddedAdapter>();
  links.onMessage((_from, payload) => {
    const message = deserialize(payload) as Message;
    adapters.get(message.nsp)?.receive(message);
  });
  links.onLeave((id) => {
    for (const adapter of adapters.values()) adapter.workerGone(id);
  });
  return (nsp) => new EmbeddedAdapter(nsp, links, adapters);
}

class EmbeddedAdapter extends ClusterAdapterWithHeartbeat {
  constructor(
    nsp: Namespace,
    private readonly links: WorkerLinks,
    private readonly adapters: Map<string, EmbeddedAdapter>,
  ) {
    super(nsp, {});
    // A worker's id says who has gone when a link breaks, which the random one of the base class would not.
    Object.assign(this, { uid: uidOf(links.id) });
    adapters.set(nsp.name, this);
  }

  override close(): void {
    super.close();
    this.adapters.delete(this.nsp.name);
  }

  receive(message: Message): void {
    // The base class tells requests and responses apart by their type.
    this.onMessage(message as ClusterMessage);
  }

  /** Whoever waits for an answer of that worker need not wait any longer. */
  workerGone(id: number): void {
    this.onMessage({ type: MessageType.ADAPTER_CLOSE, uid: uidOf(id), nsp: this.nsp.name });
  }

  /**
   * As in the base class, but delivered here before this returns: the base class waits for the bus first, which would
   * let what the application emits next overtake the broadcast.
   */
  override broadcast(packet: unknown, options: BroadcastOptions): Promise<void> {
    if (!options.flags?.local) {
      this.publish({
        type: MessageType.BROADCAST,
        data: {
          packet,
          opts: { rooms: [...options.rooms], except: [...(options.except ?? [])], flags: options.flags ?? {} },
        },
      });
    }
    return super.broadcast(packet, { ...options, flags: { ...options.flags, local: true } });
  }

  protected override doPublish(message: ClusterMessage): Promise<string> {
    if (this.links.members.length > 0) this.links.broadcast(serialize(message));
    return Promise.resolve('');
  }

  protected override doPublishResponse(requester: string, response: ClusterResponse): Promise<void> {
    this.links.send(Number(requester), serialize(response));
    return Promise.resolve();
  }
}

function uidOf(worker: number): string {
  return String(worker);
}
