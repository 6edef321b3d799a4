import { MessageType } from 'socket.io-adapter';
import { GjallarError } from '../errors.js';
import type { Delivery } from './outgoing.js';
import { EmitterTarget, type EventsMap } from './target.js';

/** All sockets of a namespace, and the servers themselves. */
export class NamespaceEmitter<
  EmitEvents extends EventsMap = EventsMap,
  ServerSideEvents extends EventsMap = EventsMap,
> extends EmitterTarget<EmitEvents> {
  /** An emitter for another namespace. Both send in one order. */
  of(name: string): NamespaceEmitter<EmitEvents, ServerSideEvents> {
    const nsp = name.startsWith('/') ? name : `/${name}`;
    return new NamespaceEmitter({ ...this.surroundings, nsp });
  }

  /**
   * Emits an event to the servers themselves, one time to each worker.
   * @throws GjallarError BAD_INPUT if the last value is a function: nothing can be acknowledged to an emitter
   */
  serverSideEmit<Event extends keyof ServerSideEvents & string>(
    event: Event,
    ...values: Parameters<ServerSideEvents[Event]>
  ): void {
    if (typeof values.at(-1) === 'function') {
      throw new GjallarError(
        'BAD_INPUT',
        'An emitter gets no acknowledgements. Call serverSideEmit() without a function.',
      );
    }
    this.send(MessageType.SERVER_SIDE_EMIT, { packet: [event, ...values] });
  }

  /**
   * Resolves when Redis or NATS has received everything that was emitted before, in all namespaces. Call it before the
   * process ends.
   * @throws GjallarError EMIT_FAILED if something that was emitted since the last call is lost
   */
  flush(): Promise<Delivery> {
    return this.surroundings.outgoing.flush();
  }
}
