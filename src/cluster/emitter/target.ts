import { GjallarError } from '../../base/errors.js';
import { nameOf } from '../../base/names.js';
import { workerIn } from '../../base/worker-name.js';
import { PacketType, reservedEvents } from '../../engine/parser/socket-io-parser.js';
import type { EncodedPackets } from '../../io/rooms/encoded-packet.js';
import { keysOf } from '../backplanes/frames/interest/rooms.js';
import { encodeBroadcast } from '../wire/broadcast.js';
import { type Addressee, type Head, NOWHERE, pack, senderOf } from '../wire/envelope.js';
import { type Data, encodeMessage } from '../wire/message.js';
import { types } from '../wire/types.js';
import type { Delivery, EmitterOutgoing } from './connection.js';

// biome-ignore lint/suspicious/noExplicitAny: as in socket.io, events have any arguments unless they are declared
export type EmitterEvents = { [event: string]: any };

/** A room, or the id of a socket. */
export type Room = string | number;

/** What all targets of an emitter share. */
export interface EmitterHost {
  readonly nsp: string;
  readonly outgoing: EmitterOutgoing;
  /** That of the servers' parser. */
  readonly encoder: { encode(packet: never): unknown[] };
}

/** The sockets that something is for. Each method that narrows it returns a new one. */
interface Selection {
  readonly rooms: ReadonlySet<Room>;
  readonly except: ReadonlySet<Room>;
  readonly flags: { readonly volatile?: boolean; readonly compress?: boolean };
}

const everyone: Selection = { rooms: new Set(), except: new Set(), flags: {} };

const EMITTER = senderOf(0, NOWHERE);

/**
 * Servers and clients trust what an emitter sends, so one mistake would reach all of them.
 * @throws GjallarError BAD_INPUT
 */
function checkEvent(event: unknown, values: readonly unknown[], reserved: ReadonlySet<unknown>): void {
  // Clients accept numbers, too.
  if (typeof event !== 'string' && typeof event !== 'number') {
    throw new GjallarError('BAD_INPUT', `The name of an event must be a text, and not ${String(event)}.`);
  }
  if (reserved.has(event)) {
    throw new GjallarError('BAD_INPUT', `"${event}" is a reserved event name. Use another one.`);
  }
  if (typeof values.at(-1) === 'function') {
    throw new GjallarError('BAD_INPUT', 'An emitter gets no acknowledgements. Emit without a function.');
  }
}

/** Sockets of a namespace on all servers. The methods are those of `@socket.io/redis-emitter`. */
export class EmitterTarget<EmitEvents extends EmitterEvents = EmitterEvents> {
  /** @internal */
  constructor(
    protected readonly surroundings: EmitterHost,
    private readonly selection: Selection = everyone,
  ) {}

  /** The sockets in a room, or in one of several rooms, besides those of earlier calls. */
  to(rooms: Room | readonly Room[]): EmitterTarget<EmitEvents> {
    return this.with({ rooms: new Set([...this.selection.rooms, ...[rooms].flat()]) });
  }

  /** The same as {@link to}. */
  in(rooms: Room | readonly Room[]): EmitterTarget<EmitEvents> {
    return this.to(rooms);
  }

  /** Without the sockets in these rooms. */
  except(rooms: Room | readonly Room[]): EmitterTarget<EmitEvents> {
    return this.with({ except: new Set([...this.selection.except, ...[rooms].flat()]) });
  }

  /** Messages are dropped for clients that cannot receive them at once. */
  get volatile(): EmitterTarget<EmitEvents> {
    return this.with({ flags: { ...this.selection.flags, volatile: true } });
  }

  compress(compress: boolean): EmitterTarget<EmitEvents> {
    return this.with({ flags: { ...this.selection.flags, compress } });
  }

  /**
   * Sends an event to the sockets. It leaves at the end of this turn of the event loop.
   * @throws GjallarError BAD_INPUT if clients would reject the name of the event, and if the last value is a function: nothing
   *   can be acknowledged to an emitter
   */
  emit<Event extends keyof EmitEvents & string>(event: Event, ...values: Parameters<EmitEvents[Event]>): true {
    checkEvent(event, values, reservedEvents);
    const { nsp, outgoing, encoder } = this.surroundings;
    const packet = { type: PacketType.EVENT, nsp, data: [event, ...values] };
    const { rooms, except, flags } = this.options();
    const names = { rooms: rooms.map(nameOf), except: except.map(nameOf) };
    const encoded = encoder.encode(packet as never) as EncodedPackets;
    outgoing.add(
      encodeBroadcast(
        { nsp, packetType: packet.type, ...names, flags, encoded },
        this.head(types.broadcast, this.addressee),
      ),
    );
    return true;
  }

  /** Lets the sockets join rooms. */
  socketsJoin(rooms: Room | readonly Room[]): void {
    this.send(types.socketsJoin, { opts: this.options(), rooms: [rooms].flat() }, this.addressee);
  }

  /** Lets the sockets leave rooms. */
  socketsLeave(rooms: Room | readonly Room[]): void {
    this.send(types.socketsLeave, { opts: this.options(), rooms: [rooms].flat() }, this.addressee);
  }

  /** @param close whether to end the connection, with the sockets of all its namespaces */
  disconnectSockets(close = false): void {
    this.send(types.disconnectSockets, { opts: this.options(), close }, this.addressee);
  }

  protected send(type: number, data: Data, to: Addressee = 'all'): void {
    const { nsp, outgoing } = this.surroundings;
    outgoing.add(pack(this.head(type, to), encodeMessage(nsp, data)));
  }

  /**
   * What is for ids goes to the workers that these name, and to those that have announced rooms of that name. All else goes to all
   * workers: which rooms their sockets will be in when it arrives is known to them alone.
   */
  private get addressee(): Addressee {
    const rooms = Array.from(this.selection.rooms, nameOf);
    const isForIds = rooms.length > 0 && rooms.every((room) => workerIn(room) !== undefined);
    return isForIds ? keysOf(this.surroundings.nsp, rooms) : 'all';
  }

  /** The hub knows the part: it has a channel for each. */
  private head(type: number, to: Addressee): Head {
    return { type, part: 0, from: EMITTER, to };
  }

  private options(): { rooms: Room[]; except: Room[]; flags: Selection['flags'] } {
    const { rooms, except, flags } = this.selection;
    return { rooms: [...rooms], except: [...except], flags };
  }

  private with(change: Partial<Selection>): EmitterTarget<EmitEvents> {
    return new EmitterTarget(this.surroundings, { ...this.selection, ...change });
  }
}

/** Servers would take them for their own. */
const RESERVED = new Set(['connect', 'connection', 'new_namespace']);

/** All sockets of a namespace, and the servers themselves. */
export class NamespaceEmitter<
  EmitEvents extends EmitterEvents = EmitterEvents,
  ServerSideEvents extends EmitterEvents = EmitterEvents,
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
    this.send(types.serverSideEmit, { packet: [event, ...values] });
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
