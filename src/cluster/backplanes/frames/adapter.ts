import { randomUUID } from 'node:crypto';
import { EventEmitter } from 'node:events';
import type { Namespace } from 'socket.io';
import {
  Adapter,
  type BroadcastOptions,
  ClusterAdapterWithHeartbeat,
  type ClusterMessage,
  type ClusterResponse,
  MessageType,
  type Room,
  type SocketId,
} from 'socket.io-adapter';
import { isNamedHere, nameOf, roomsNamed } from '../../../base/names.js';
import { attempt } from '../../../base/owner.js';
import { idPrefixOf, workerIn } from '../../../base/worker-name.js';
import { randomId } from '../../../engine/session/session-id.js';
import {
  type AdapterWithServers,
  addToRooms,
  BroadcastAnswers,
  decodePackets,
  EncodedPacket,
  type EncodedPackets,
  type Notice,
  type OtherServers,
  type OtherServersEvents,
  useRoomSets,
} from '../../../io/rooms/index.js';
import { type BroadcastPacket, decoderOf, giveIds, nspOf, withoutHeartbeats } from '../../../io/socket-io.private.js';
import type { FrameBus } from './bus.js';
import type { Broadcast } from './wire/broadcast.js';
import { encodeMessage, encodeResponse, type Message } from './wire/message.js';

/** What other workers report about a broadcast of this one that waits for the acknowledgements of clients. */
class OthersAnswers {
  /** The workers that have not reported the number of their clients, with the number of answers that came from them. */
  private readonly waiting: Map<string, number>;

  /**
   * @param workers those that get the broadcast
   * @param onCount called once for each worker, with the number of clients whose answers count
   */
  constructor(
    workers: Iterable<string>,
    private readonly onCount: (clients: number) => void,
    private readonly onAnswer: (value: unknown) => void,
  ) {
    this.waiting = new Map(Array.from(workers, (worker) => [worker, 0]));
  }

  answered(worker: string, value: unknown): void {
    const before = this.waiting.get(worker);
    if (before !== undefined) this.waiting.set(worker, before + 1);
    this.onAnswer(value);
  }

  counted(worker: string, clients: number): void {
    if (this.waiting.delete(worker)) this.onCount(clients);
  }

  /** The worker is gone: the broadcast does not wait for its clients. */
  gone(worker: string): void {
    this.counted(worker, this.waiting.get(worker) ?? 0);
  }
}

/** The sockets that other workers are asked for. */
class OthersSockets {
  private readonly missing: Set<string>;
  private readonly sockets: unknown[] = [];
  private readonly timer: NodeJS.Timeout;

  /** @param onEnd called once all have answered or are gone, or with an error after the timeout */
  constructor(
    workers: Iterable<string>,
    timeoutMs: number,
    private readonly onEnd: (sockets: unknown[], error?: Error) => void,
  ) {
    this.missing = new Set(workers);
    this.timer = setTimeout(() => {
      onEnd([], new Error(`timeout reached: missing ${this.missing.size} responses`));
    }, timeoutMs);
  }

  answered(worker: string, sockets: readonly unknown[]): void {
    if (!this.missing.has(worker)) return;
    this.sockets.push(...sockets);
    this.gone(worker);
  }

  gone(worker: string): void {
    if (!this.missing.delete(worker) || this.missing.size > 0) return;
    clearTimeout(this.timer);
    this.onEnd(this.sockets);
  }
}

/** How long the sockets of other workers are waited for by default, in ms, as in the base class. */
const FETCH_TIMEOUT_MS = 5000;

interface Packet {
  type: number;
  nsp: string;
  data: unknown[];
}

/** The adapter of a namespace whose messages go to other workers in frames. */
export class FrameAdapter extends ClusterAdapterWithHeartbeat implements AdapterWithServers {
  readonly otherServers: OtherServers;
  private readonly answers = new BroadcastAnswers(this);
  /** Broadcasts of this worker whose acknowledgements others gather, by the id of the request. */
  private readonly asked = new Map<string, OthersAnswers>();
  private readonly fetched = new Map<string, OthersSockets>();
  private readonly name: string;
  /** Why the last message could not be encoded, if so. */
  private readonly failures: Error[] = [];
  /** The other servers that have the namespace. The links tell when one is here or gone, so none of them beats. */
  private readonly servers = withoutHeartbeats(this);

  constructor(
    nsp: Namespace,
    private readonly bus: FrameBus,
  ) {
    super(nsp, {});
    useRoomSets(this);
    // When a link breaks, the worker's id names the worker that is gone. The base class's random id would not.
    Object.assign(this, { uid: bus.id });
    const prefix = idPrefixOf(bus.id);
    giveIds(nsp, () => randomId(prefix));
    this.name = nsp.name;
    this.otherServers = Object.assign(new EventEmitter<OtherServersEvents>(), {
      id: bus.id,
      send: (event: string, notice: Notice, to?: string) => this.notify([event, notice], to),
    });
    bus.members.set(this.name, this);
    this.on('create-room', (room: Room) => this.announce(room));
    this.on('delete-room', (room: Room) => this.withdraw(room));
  }

  get isUp(): boolean {
    return this.bus.isUp;
  }

  override close(): void {
    super.close();
    for (const room of this.rooms.keys()) this.withdraw(room);
    this.bus.members.delete(this.name);
  }

  /** The promise resolves when the other workers know that the rooms have a member here. It costs nothing otherwise. */
  override addAll(id: SocketId, rooms: Set<Room>): Promise<void> | void {
    const { size } = this.rooms;
    addToRooms(this, id, rooms);
    // Nobody waits until a socket is in its own room.
    if (rooms.has(id) || this.rooms.size === size || !this.bus.hasPeers) return;
    return whenAwaited(async () => void (await this.bus.announced()));
  }

  /** Messages to an id that names another worker come here, too, from when `known` resolves until `end()`. */
  announceId(id: SocketId): { readonly known: Promise<unknown>; end(): void } | undefined {
    if (workerIn(id) === undefined || this.bus.isOwnId(id)) return undefined;
    this.announce(id);
    return { known: this.bus.announced(), end: () => this.withdraw(id) };
  }

  private announce(room: Room): void {
    const name = nameOf(room);
    // Another worker cannot have the room.
    if (!isNamedHere(name) && !this.bus.isOwnId(name)) this.bus.rooms.add(this.name, name);
  }

  private withdraw(room: Room): void {
    const name = nameOf(room);
    if (!isNamedHere(name) && !this.bus.isOwnId(name)) this.bus.rooms.remove(this.name, name);
  }

  receiveBroadcast({ rooms, except, flags, encoded, packetType, nsp }: Broadcast): void {
    const Decoder = decoderOf(nspOf(this).server);
    const packet = new EncodedPacket(packetType, nsp, encoded, () => decodePackets(encoded, Decoder));
    Adapter.prototype.broadcast.call(this, packet, {
      rooms: new Set(roomsNamed(rooms)),
      except: new Set(roomsNamed(except)),
      flags,
    });
  }

  receiveMessage(message: Message): void {
    if (message.type === MessageType.BROADCAST && message.data.requestId !== undefined) {
      return this.askClients(message, message.data.requestId);
    }
    // The base class tells requests and responses apart by their type.
    this.onMessage(message as ClusterMessage);
  }

  greet(worker: string): void {
    this.sendTo(worker, { type: MessageType.INITIAL_HEARTBEAT });
    this.otherServers.emit('here', worker);
  }

  /** Has the clients of this worker answer a broadcast of another one. */
  private askClients({ uid, data }: Extract<Message, { type: MessageType.BROADCAST }>, requestId: string): void {
    const { packet, opts } = data as { packet: BroadcastPacket; opts: ReturnType<typeof plain> };
    const options = { rooms: new Set(opts.rooms), except: new Set(opts.except), flags: opts.flags };
    this.answers.broadcast(
      packet,
      options,
      (clientCount) =>
        this.publishResponse(uid, { type: MessageType.BROADCAST_CLIENT_COUNT, data: { requestId, clientCount } }),
      (answer) => this.publishResponse(uid, { type: MessageType.BROADCAST_ACK, data: { requestId, packet: answer } }),
    );
  }

  /** A server is known by its greeting, and by nothing else: a namespace that is closed here may still send. */
  override onMessage(message: ClusterMessage): void {
    const { type, uid } = message;
    const isKnown = this.servers.has(uid);
    if (type === MessageType.INITIAL_HEARTBEAT) this.sendTo(uid, { type: MessageType.HEARTBEAT });
    if (type === MessageType.INITIAL_HEARTBEAT || type === MessageType.HEARTBEAT) {
      this.servers.set(uid, 0);
      return;
    }
    super.onMessage(message);
    if (!isKnown) this.servers.delete(uid);
    if (!isKnown || type !== MessageType.ADAPTER_CLOSE) return;
    for (const waiting of [...this.asked.values(), ...this.fetched.values()]) waiting.gone(uid);
    this.otherServers.emit('gone', uid);
  }

  override onResponse(response: ClusterResponse): void {
    const { type, uid, data } = response;
    const { requestId } = data;
    if (type === MessageType.FETCH_SOCKETS_RESPONSE) return this.fetched.get(requestId)?.answered(uid, data.sockets);
    const asked = this.asked.get(requestId);
    if (!asked) return super.onResponse(response);
    if (type === MessageType.BROADCAST_ACK) asked.answered(uid, data.packet);
    else if (type === MessageType.BROADCAST_CLIENT_COUNT) asked.counted(uid, data.clientCount);
  }

  override delAll(id: SocketId): void {
    this.answers.gone(id);
    super.delAll(id);
  }

  /** Nothing waits for answers of that worker any longer. */
  workerGone(worker: string): void {
    this.onMessage({ type: MessageType.ADAPTER_CLOSE, uid: worker, nsp: this.name });
  }

  // The base class waits for the other workers before it acts on its own sockets. The application's next action could then
  // overtake the broadcast, and local delivery would stop while the backplane is down.

  override broadcast(packet: Packet | EncodedPacket, options: BroadcastOptions): Promise<void> {
    // What cannot be encoded throws here, to the caller of emit(). The base class would reject a promise that nothing awaits.
    const encoded = packet instanceof EncodedPacket ? packet : this.encode(packet);
    if (!isLocal(options))
      this.publish({ type: MessageType.BROADCAST, data: { packet: encoded, opts: plain(options) } });
    Adapter.prototype.broadcast.call(this, encoded, localOnly(options));
    return DONE;
  }

  override broadcastWithAck(
    packet: BroadcastPacket,
    options: BroadcastOptions,
    onCount: (clients: number) => void,
    onAnswer: (...values: unknown[]) => void,
  ): void {
    if (!isLocal(options)) this.askOthers(packet, options, onCount, onAnswer);
    this.answers.broadcast(packet, options, onCount, onAnswer);
  }

  private askOthers(
    packet: BroadcastPacket,
    options: BroadcastOptions,
    onCount: (clients: number) => void,
    onAnswer: (value: unknown) => void,
  ): void {
    const all = [...this.servers.keys()];
    const servers = this.holdersOf(options) ?? all;
    // Socket.IO waits for a count of each server.
    for (const server of all) if (!servers.includes(server)) onCount(0);
    if (servers.length === 0) return;
    const requestId = randomUUID();
    this.publish({ type: MessageType.BROADCAST, data: { packet, requestId, opts: plain(options) } });
    this.asked.set(requestId, new OthersAnswers(servers, onCount, onAnswer));
    // Socket.IO does not tell whether it still waits.
    setTimeout(() => this.asked.delete(requestId), options.flags?.timeout).unref();
  }

  override addSockets(options: BroadcastOptions, rooms: Room[]): Promise<void> {
    if (!isLocal(options)) this.publish({ type: MessageType.SOCKETS_JOIN, data: { opts: plain(options), rooms } });
    return super.addSockets(localOnly(options), rooms);
  }

  override delSockets(options: BroadcastOptions, rooms: Room[]): Promise<void> {
    if (!isLocal(options)) this.publish({ type: MessageType.SOCKETS_LEAVE, data: { opts: plain(options), rooms } });
    return super.delSockets(localOnly(options), rooms);
  }

  override disconnectSockets(options: BroadcastOptions, close: boolean): Promise<void> {
    if (!isLocal(options))
      this.publish({ type: MessageType.DISCONNECT_SOCKETS, data: { opts: plain(options), close } });
    return super.disconnectSockets(localOnly(options), close);
  }

  // biome-ignore lint/suspicious/noExplicitAny: as the base class declares it
  override async fetchSockets(options: BroadcastOptions): Promise<any[]> {
    const here = await Adapter.prototype.fetchSockets.call(this, options);
    const servers = isLocal(options) ? [] : (this.holdersOf(options) ?? [...this.servers.keys()]);
    if (servers.length === 0) return here;
    const requestId = randomUUID();
    return new Promise((resolve, reject) => {
      const onEnd = (sockets: unknown[], error?: Error) => {
        this.fetched.delete(requestId);
        if (error) reject(error);
        else resolve([...here, ...sockets]);
      };
      const timeoutMs = options.flags?.timeout || FETCH_TIMEOUT_MS;
      this.fetched.set(requestId, new OthersSockets(servers, timeoutMs, onEnd));
      this.publish({ type: MessageType.FETCH_SOCKETS, data: { opts: plain(options), requestId } });
    });
  }

  /** The other servers that may have sockets of a selection by ids; undefined if it names other rooms, or none. */
  private holdersOf({ rooms }: BroadcastOptions): string[] | undefined {
    return this.bus.holdersOf(this.name, Array.from(rooms, nameOf), this.servers.keys());
  }

  /**
   * The base class rejects if the event cannot be encoded, but socket.io drops its promise. The application gets the error at
   * its call instead.
   */
  override serverSideEmit(packet: unknown[]): Promise<unknown> {
    this.failures.length = 0;
    const sent = super.serverSideEmit(packet);
    const [failure] = this.failures;
    if (!failure) return sent;
    sent.catch(() => {});
    throw failure;
  }

  protected override doPublish(message: ClusterMessage): Promise<string> {
    try {
      this.publishNow(message);
    } catch (error) {
      this.failures[0] = error as Error;
      throw error;
    }
    return Promise.resolve('');
  }

  private publishNow(message: ClusterMessage): void {
    if (this.bus.hasPeers) this.send(message);
    // Greetings are for workers that have been found.
    else if (message.type > MessageType.HEARTBEAT) this.bus.lose();
  }

  protected override doPublishResponse(requester: string, response: ClusterResponse): Promise<void> {
    attempt('answering another server', () => this.bus.sendTo(requester, encodeResponse(response)));
    return Promise.resolve();
  }

  /** Sends an event of a service to all other servers of the namespace, or to one. */
  private notify(packet: unknown[], to: string | undefined): void {
    if (to === undefined) this.publish({ type: MessageType.SERVER_SIDE_EMIT, data: { packet } });
    else this.sendTo(to, { type: MessageType.SERVER_SIDE_EMIT, data: { packet } });
  }

  private sendTo(worker: string, message: DistributiveOmit<ClusterMessage, 'uid' | 'nsp'>): void {
    this.bus.sendTo(worker, encodeMessage({ ...message, uid: this.bus.id, nsp: this.name } as ClusterMessage));
  }

  private send(message: ClusterMessage): void {
    const broadcast = this.encodedBroadcast(message);
    if (broadcast) return this.bus.broadcast(broadcast);
    const bytes = encodeMessage(message);
    const rooms = roomsOf(message).map(nameOf);
    // A question to rooms goes to all, unless they are ids: those who are to answer are known before.
    const isToAll = rooms.length === 0 || (isQuestion(message) && !rooms.every(workerIn));
    if (isToAll) this.bus.sendToAll(bytes);
    else this.bus.sendToRooms(this.name, rooms, bytes);
    if (message.type === MessageType.SOCKETS_JOIN) this.bus.expect(this.name, message.data.rooms.map(nameOf), rooms);
  }

  /** A broadcast that is encoded once for all workers, or undefined where each worker needs the values. */
  private encodedBroadcast(message: ClusterMessage): Broadcast | undefined {
    if (message.type !== MessageType.BROADCAST) return undefined;
    const packet: unknown = message.data.packet;
    // A packet with an acknowledgement gets an id of its own from each worker.
    if (!(packet instanceof EncodedPacket)) return undefined;
    const { rooms, except, flags } = message.data.opts;
    const names = { rooms: rooms.map(nameOf), except: except.map(nameOf) };
    return { nsp: this.name, packetType: packet.type, ...names, flags, encoded: packet.encoded };
  }

  private encode(packet: Packet): EncodedPacket {
    packet.nsp = this.name;
    const encoded = this.nsp.server.encoder.encode(packet as never) as EncodedPackets;
    return new EncodedPacket(packet.type, packet.nsp, encoded, () => packet.data);
  }
}

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

const DONE = Promise.resolve();

function isLocal({ flags }: BroadcastOptions): boolean {
  return flags?.local === true;
}

function localOnly(options: BroadcastOptions): BroadcastOptions {
  return { ...options, flags: { ...options.flags, local: true } };
}

/** The rooms that a message selects sockets by. */
function roomsOf({
  data,
}: ClusterMessage & { readonly data?: { readonly opts?: { readonly rooms: Room[] } } }): Room[] {
  return data?.opts?.rooms ?? [];
}

function isQuestion({ data }: ClusterMessage & { readonly data?: { readonly requestId?: string } }): boolean {
  return data?.requestId !== undefined;
}

/** Options as workers exchange them. */
function plain({ rooms, except, flags }: BroadcastOptions) {
  return { rooms: [...rooms] as string[], except: [...(except ?? [])] as string[], flags: flags ?? {} };
}

/** A promise that does its work only if it is awaited. */
function whenAwaited(work: () => Promise<void>): Promise<void> {
  let result: Promise<void> | undefined;
  const settled = () => {
    result ??= work();
    return result;
  };
  const lazy: Pick<Promise<void>, 'then' | 'catch' | 'finally'> = {
    // biome-ignore lint/suspicious/noThenProperty: it is a promise
    then: (onResolve, onReject) => settled().then(onResolve, onReject),
    catch: (onReject) => settled().catch(onReject),
    finally: (onSettle) => settled().finally(onSettle),
  };
  return lazy as Promise<void>;
}
