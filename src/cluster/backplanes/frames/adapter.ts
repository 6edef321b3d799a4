import { randomUUID } from 'node:crypto';
import { EventEmitter } from 'node:events';
import type { Namespace, Socket } from 'socket.io';
import { Adapter, type BroadcastOptions, type ClusterResponse, type Room, type SocketId } from 'socket.io-adapter';
import { isNamedHere, nameOf, roomsNamed } from '../../../base/names.js';
import { attempt, own } from '../../../base/owner.js';
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
import { type BroadcastPacket, decoderOf, detailsOf, emitServerSide, giveIds } from '../../../io/socket-io.private.js';
import { MessageType } from '../message-type.js';
import type { FrameBus } from './bus.js';
import { OthersAnswers, Question } from './questions.js';
import type { Broadcast } from './wire/broadcast.js';
import { encodeMessage, encodeResponse, type Message } from './wire/message.js';

/** How long other servers may take to answer by default, in ms, as in the adapters of socket.io. */
const ANSWER_TIMEOUT_MS = 5000;

interface Packet {
  type: number;
  nsp: string;
  data: unknown[];
}

/** The adapter of a namespace whose messages go to other workers in frames. Local delivery never waits for them. */
export class FrameAdapter extends Adapter implements AdapterWithServers {
  readonly otherServers: OtherServers;
  private readonly answers = new BroadcastAnswers(this);
  /** Broadcasts of this worker whose acknowledgements others gather, by the id of the request. */
  private readonly asked = new Map<string, OthersAnswers>();
  private readonly questions = new Map<string, Question>();
  private readonly name: string;
  /** The other servers that have the namespace. The node tells when one is here or gone, so none of them beats. */
  private readonly servers = new Set<string>();
  private readonly namespace: Namespace;

  constructor(
    nsp: Namespace,
    private readonly bus: FrameBus,
  ) {
    super(nsp);
    useRoomSets(this);
    const prefix = idPrefixOf(bus.id);
    giveIds(nsp, () => randomId(prefix));
    this.namespace = nsp;
    this.name = nsp.name;
    this.otherServers = Object.assign(new EventEmitter<OtherServersEvents>(), {
      id: bus.id,
      send: (event: string, notice: Notice, to?: string) => this.notify([event, notice], to),
    });
    bus.members.set(this.name, this);
    this.on('create-room', (room: Room) => this.announce(room));
    this.on('delete-room', (room: Room) => this.withdraw(room));
  }

  override init(): void {
    this.tell(MessageType.INITIAL_HEARTBEAT, undefined);
  }

  override serverCount(): Promise<number> {
    return Promise.resolve(1 + this.servers.size);
  }

  get isUp(): boolean {
    return this.bus.isUp;
  }

  override close(): void {
    this.tell(MessageType.ADAPTER_CLOSE, undefined);
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
    const Decoder = decoderOf(this.namespace.server);
    const packet = new EncodedPacket(packetType, nsp, encoded, () => decodePackets(encoded, Decoder));
    Adapter.prototype.broadcast.call(this, packet, {
      rooms: new Set(roomsNamed(rooms)),
      except: new Set(roomsNamed(except)),
      flags,
    });
  }

  /** A message of another server, or of an emitter. */
  receiveMessage(message: Message): void {
    const { uid } = message;
    switch (message.type) {
      // A server is known by its greeting, and by nothing else: a namespace that is closed here may still send.
      case MessageType.INITIAL_HEARTBEAT:
        this.sendTo(uid, MessageType.HEARTBEAT, undefined);
        return void this.servers.add(uid);
      case MessageType.HEARTBEAT:
        return void this.servers.add(uid);
      case MessageType.ADAPTER_CLOSE:
        return this.workerGone(uid);
      case MessageType.BROADCAST:
        return this.askClients(uid, message.data);
      case MessageType.SOCKETS_JOIN:
        return super.addSockets(optionsOf(message.data.opts), message.data.rooms);
      case MessageType.SOCKETS_LEAVE:
        return super.delSockets(optionsOf(message.data.opts), message.data.rooms);
      case MessageType.DISCONNECT_SOCKETS:
        return super.disconnectSockets(optionsOf(message.data.opts), message.data.close ?? false);
      case MessageType.FETCH_SOCKETS: {
        const { opts, requestId } = message.data;
        const found = super.fetchSockets(optionsOf(opts)).then((sockets) => {
          const described = (sockets as Socket[]).map(detailsOf);
          this.answer(uid, MessageType.FETCH_SOCKETS_RESPONSE, { requestId, sockets: described });
        });
        return own('fetching sockets for another server', found);
      }
      case MessageType.SERVER_SIDE_EMIT:
        return this.emitHere(uid, message.data);
      case MessageType.FETCH_SOCKETS_RESPONSE:
        return this.questions.get(message.data.requestId)?.answered(uid, message.data.sockets);
      case MessageType.SERVER_SIDE_EMIT_RESPONSE:
        return this.questions.get(message.data.requestId)?.answered(uid, message.data.packet);
      case MessageType.BROADCAST_ACK:
        return this.asked.get(message.data.requestId)?.answered(uid, message.data.packet);
      case MessageType.BROADCAST_CLIENT_COUNT:
        return this.asked.get(message.data.requestId)?.counted(uid, message.data.clientCount);
    }
  }

  greet(worker: string): void {
    this.sendTo(worker, MessageType.INITIAL_HEARTBEAT, undefined);
    this.otherServers.emit('here', worker);
  }

  /** Nothing waits for answers of that worker any longer. */
  workerGone(worker: string): void {
    if (!this.servers.delete(worker)) return;
    for (const waiting of [...this.asked.values(), ...this.questions.values()]) waiting.gone(worker);
    this.otherServers.emit('gone', worker);
  }

  /** Has the clients of this worker answer a broadcast of another one. */
  private askClients(uid: string, { packet, opts, requestId }: Data): void {
    this.answers.broadcast(
      packet as BroadcastPacket,
      optionsOf(opts),
      (clientCount) => this.answer(uid, MessageType.BROADCAST_CLIENT_COUNT, { requestId, clientCount }),
      (answer) => this.answer(uid, MessageType.BROADCAST_ACK, { requestId, packet: answer }),
    );
  }

  /** Calls the listeners of an event between servers. */
  private emitHere(uid: string, { packet, requestId }: Data): void {
    if (requestId === undefined) return emitServerSide(this.namespace, packet as unknown[]);
    let isAnswered = false;
    emitServerSide(this.namespace, [
      ...(packet as unknown[]),
      (answer: unknown) => {
        if (isAnswered) return;
        isAnswered = true;
        this.answer(uid, MessageType.SERVER_SIDE_EMIT_RESPONSE, { requestId, packet: answer });
      },
    ]);
  }

  override delAll(id: SocketId): void {
    this.answers.gone(id);
    super.delAll(id);
  }

  override broadcast(packet: Packet | EncodedPacket, options: BroadcastOptions): void {
    // What cannot be encoded throws here, to the caller of emit().
    const encoded = packet instanceof EncodedPacket ? packet : this.encode(packet);
    if (!isLocal(options)) this.sendBroadcast(encoded, options);
    super.broadcast(encoded as never, { ...options, flags: { ...options.flags, local: true } });
  }

  /** It is encoded once, for the clients of all workers. */
  private sendBroadcast(
    { type: packetType, encoded }: EncodedPacket,
    { rooms, except, flags }: BroadcastOptions,
  ): void {
    if (!this.bus.hasPeers) return this.bus.lose();
    const names = { rooms: Array.from(rooms, nameOf), except: Array.from(except ?? [], nameOf) };
    this.bus.broadcast({ nsp: this.name, packetType, ...names, flags: flags ?? {}, encoded });
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
    const requestId = randomUUID();
    // A packet with an acknowledgement gets an id of its own from each worker.
    const servers = this.askAbout(options, MessageType.BROADCAST, { packet, requestId });
    // Socket.IO waits for a count of each server.
    for (const server of this.servers) if (!servers.includes(server)) onCount(0);
    if (servers.length === 0) return;
    this.asked.set(requestId, new OthersAnswers(servers, onCount, onAnswer));
    // Socket.IO does not tell whether it still waits.
    setTimeout(() => this.asked.delete(requestId), options.flags?.timeout).unref();
  }

  override addSockets(options: BroadcastOptions, rooms: Room[]): void {
    this.tellAbout(options, MessageType.SOCKETS_JOIN, { rooms });
    if (!isLocal(options)) this.bus.expect(this.name, rooms.map(nameOf), Array.from(options.rooms, nameOf));
    super.addSockets(options, rooms);
  }

  override delSockets(options: BroadcastOptions, rooms: Room[]): void {
    this.tellAbout(options, MessageType.SOCKETS_LEAVE, { rooms });
    super.delSockets(options, rooms);
  }

  override disconnectSockets(options: BroadcastOptions, close: boolean): void {
    this.tellAbout(options, MessageType.DISCONNECT_SOCKETS, { close });
    super.disconnectSockets(options, close);
  }

  // biome-ignore lint/suspicious/noExplicitAny: as the base class declares it
  override async fetchSockets(options: BroadcastOptions): Promise<any[]> {
    const here = await super.fetchSockets(options);
    if (isLocal(options)) return here;
    const requestId = randomUUID();
    const servers = this.askAbout(options, MessageType.FETCH_SOCKETS, { requestId });
    if (servers.length === 0) return here;
    return new Promise((resolve, reject) => {
      this.ask(requestId, servers, options.flags?.timeout, (error, sockets) => {
        if (error) reject(error);
        else resolve([...here, ...sockets.flat()]);
      });
    });
  }

  /** @throws what encoding the event throws */
  override serverSideEmit(packet: unknown[]): void {
    const answer = packet.at(-1);
    if (typeof answer !== 'function') return this.tell(MessageType.SERVER_SIDE_EMIT, { packet });
    if (this.servers.size === 0) return answer(null, []);
    const requestId = randomUUID();
    this.tell(MessageType.SERVER_SIDE_EMIT, { requestId, packet: packet.slice(0, -1) });
    this.ask(requestId, this.servers, undefined, answer as never);
  }

  /** Waits for the answers to a question that was sent. */
  private ask(
    id: string,
    servers: Iterable<string>,
    timeoutMs: number | undefined,
    onEnd: (error: Error | null, answers: unknown[]) => void,
  ): void {
    const question = new Question(servers, timeoutMs || ANSWER_TIMEOUT_MS, (error, answers) => {
      if (this.questions.delete(id)) onEnd(error, answers);
    });
    this.questions.set(id, question);
  }

  /**
   * Asks the other servers that may have sockets of a selection.
   * @returns those that answer
   * @throws what encoding throws
   */
  private askAbout(options: BroadcastOptions, type: MessageType, data: Data): string[] {
    if (this.servers.size === 0) return [];
    const servers = this.bus.holdersOf(this.name, Array.from(options.rooms, nameOf), this.servers);
    const message = this.encoded(type, { ...data, opts: plain(options) });
    // Who is to answer gets it whatever is announced until the end of the window.
    if (servers) for (const server of servers) this.bus.sendTo(server, message);
    else this.bus.sendToAll(message);
    return servers ?? [...this.servers];
  }

  /** Sends an event of a service to all other servers of the namespace, or to one. */
  private notify(packet: unknown[], to: string | undefined): void {
    if (to === undefined) this.tell(MessageType.SERVER_SIDE_EMIT, { packet });
    else this.sendTo(to, MessageType.SERVER_SIDE_EMIT, { packet });
  }

  /** Answers another server, which waits for it. */
  private answer(to: string, type: MessageType, data: Data): void {
    const response = { type, uid: this.bus.id, nsp: this.name, data } as ClusterResponse;
    attempt('answering another server', () => this.bus.sendTo(to, encodeResponse(response)));
  }

  private sendTo(worker: string, type: MessageType, data: Data | undefined): void {
    this.bus.sendTo(worker, this.encoded(type, data));
  }

  /** Tells all other servers. @throws what encoding throws */
  private tell(type: MessageType, data: Data | undefined): void {
    if (this.bus.hasPeers) this.bus.sendToAll(this.encoded(type, data));
    // Greetings are for workers that have been found.
    else if (data) this.bus.lose();
  }

  /** Tells the servers that have sockets of a selection. @throws what encoding throws */
  private tellAbout(options: BroadcastOptions, type: MessageType, data: Data): void {
    if (isLocal(options)) return;
    if (!this.bus.hasPeers) return this.bus.lose();
    const rooms = Array.from(options.rooms, nameOf);
    const message = this.encoded(type, { ...data, opts: plain(options) });
    if (rooms.length === 0) this.bus.sendToAll(message);
    else this.bus.sendToRooms(this.name, rooms, message);
  }

  private encoded(type: MessageType, data: Data | undefined): Buffer {
    return encodeMessage({ type, uid: this.bus.id, nsp: this.name, data } as Message);
  }

  private encode(packet: Packet): EncodedPacket {
    packet.nsp = this.name;
    const encoded = this.namespace.server.encoder.encode(packet as never) as EncodedPackets;
    return new EncodedPacket(packet.type, packet.nsp, encoded, () => packet.data);
  }
}

/** The fields of a message between servers. Which of them there are, its type says. */
type Data = Readonly<Record<string, unknown>>;

function isLocal({ flags }: BroadcastOptions): boolean {
  return flags?.local === true;
}

/** Options as they have arrived. Emitters in other languages omit what is empty. */
function optionsOf(opts: unknown): BroadcastOptions {
  const { rooms, except, flags } = opts as Partial<ReturnType<typeof plain>>;
  return { rooms: new Set(rooms), except: new Set(except), flags: flags ?? {} };
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
