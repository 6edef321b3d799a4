import { MessageType } from 'socket.io-adapter';
import type { Delivery } from './outgoing.js';
import { checkEvent, EmitterTarget, type EventsMap } from './target.js';

/** Servers would take them for their own. */
const RESERVED = new Set(['connect', 'connection', 'new_namespace']);

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
   * @throws GjallarError BAD_INPUT for an event of Socket.IO itself, such as `connection`, and if the last value is a function:
   *   nothing can be acknowledged to an emitter
   */
  serverSideEmit<Event extends keyof ServerSideEvents & string>(
    event: Event,
    ...values: Parameters<ServerSideEvents[Event]>
  ): void {
    checkEvent(event, values, RESERVED);
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
