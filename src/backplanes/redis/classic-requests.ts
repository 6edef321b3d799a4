import type { Namespace, Socket } from 'socket.io';
import { Adapter } from 'socket.io-adapter';
import { own, raise } from '../../base/owner.js';
import { detailsOf, sendableSocket } from '../../compat/socket-io.js';
import type { ClassicMessage } from './classic-message.js';

/** The request of `@socket.io/redis-adapter` for the sockets of other servers. */
const FETCH_SOCKETS = 5;

interface Request {
  readonly type: number;
  readonly requestId: string;
  readonly opts: { readonly rooms: readonly string[]; readonly except: readonly string[] };
}

/** The private method with which the adapter answers. */
interface AnsweringAdapter extends Adapter {
  publishResponse(request: Request, response: string): void;
}

/**
 * Answers requests that the adapter cannot answer, because JSON cannot express the data of a socket. The adapter itself rejects
 * then, and nothing waits for its promise.
 */
export class ClassicRequests {
  private readonly adapters = new Map<string, AnsweringAdapter>();

  /** @param prefix the prefix of the channels */
  constructor(private readonly prefix: string) {}

  add<T extends Adapter>({ name }: Namespace, adapter: T): T {
    const channel = `${this.prefix}-request#${name}#`;
    const { close } = adapter;
    this.adapters.set(channel, adapter as Adapter as AnsweringAdapter);
    adapter.close = () => {
      if ((this.adapters.get(channel) as Adapter | undefined) === adapter) this.adapters.delete(channel);
      return close.call(adapter);
    };
    return adapter;
  }

  /** The adapter's listener has rejected. */
  rejected(error: unknown, channel: Buffer, message: ClassicMessage): void {
    const adapter = this.adapters.get(channel.toString());
    const request = message.read() as Request;
    if (adapter && request.type === FETCH_SOCKETS) {
      return own('describing the sockets of this worker', this.describe(adapter, request));
    }
    // A listener of the application has thrown it, such as one for `disconnect`.
    raise(error);
  }

  private async describe(adapter: AnsweringAdapter, request: Request): Promise<void> {
    const { rooms, except } = request.opts;
    const found = await Adapter.prototype.fetchSockets.call(adapter, {
      rooms: new Set(rooms),
      except: new Set(except),
    });
    const sockets = (found as Socket[]).map((socket) => sendableSocket(detailsOf(socket)));
    adapter.publishResponse(request, JSON.stringify({ requestId: request.requestId, sockets }));
  }
}
