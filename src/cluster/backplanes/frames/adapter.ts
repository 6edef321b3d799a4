import { randomUUID } from 'node:crypto';
import { EventEmitter } from 'node:events';
import type { Namespace, Socket } from 'socket.io';
import { Adapter, type BroadcastOptions, type Room, type SocketId } from 'socket.io-adapter';
import { isNamedHere, nameOf, roomsNamed } from '../../../base/names.js';
import { attempt, own } from '../../../base/owner.js';
import { Question } from '../../../base/question.js';
import { idPrefixOf, workerIn } from '../../../base/worker-name.js';
import { randomIds } from '../../../engine/session/session-id.js';
import {
  type AdapterWithServers,
  addToRooms,
  decodePackets,
  EncodedPacket,
  type EncodedPackets,
  type Notice,
  type OtherServers,
  type OtherServersEvents,
  useRoomSets,
} from '../../../io/rooms/index.js';
import {
  type BroadcastPacket,
  decoderOf,
  detailsOf,
  emitServerSide,
  forgetAcknowledgement,
  giveIds,
} from '../../../io/socket-io.private.js';
import type { Broadcast } from '../../wire/broadcast.js';
import { type Data, encodeAnswer, encodeMessage, type Message } from '../../wire/message.js';
import { types } from '../../wire/types.js';
import type { FrameBus } from './bus.js';

/** How long other servers may take to answer by default, in ms, as in the adapters of socket.io. */
const ANSWER_TIMEOUT_MS = 5000;

interface Packet {
  type: number;
  nsp: string;
  data: unknown[];
}

/** A broadcast of this worker whose acknowledgements others gather. */
interface Asked {
  /** The servers that have not told how many clients got it. */
  readonly uncounted: Set<string>;
  onCount(clients: number): void;
  onAnswer(value: unknown): void;
}

/** The adapter of a namespace whose messages go to other workers in frames. Local delivery never waits for them. */
export class FrameAdapter extends Adapter implements AdapterWithServers {
  readonly otherServers: OtherServers;
  /** By the id of the request. */
  private readonly asked = new Map<string, Asked>();
  private readonly questions = new Map<string, Question<string, unknown>>();
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
    giveIds(nsp, randomIds(idPrefixOf(bus.id)));
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
    this.tell(types.greet);
  }

  override serverCount(): Promise<number> {
    return Promise.resolve(1 + this.servers.size);
  }

  get isUp(): boolean {
    return this.bus.isUp;
  }

  override close(): void {
    for (const room of this.rooms.keys()) this.withdraw(room);
    // A client may have made a namespace of the same name meanwhile.
    if (this.bus.members.get(this.name) !== this) return;
    this.tell(types.leave);
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
  announceId(id: SocketId): { readonly known: Promise<boolean>; end(): void } | undefined {
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
  receiveMessage({ type, from, data }: Message): void {
    switch (type) {
      // A server is known by its greeting, and by nothing else: a namespace that is closed here may still send.
      case types.greet:
        this.sendTo(from, types.greeted);
        return void this.servers.add(from);
      case types.greeted:
        return void this.servers.add(from);
      case types.leave:
        // It had no client left that could have got the broadcasts on their way to it. One that is killed may have had some.
        for (const id of this.asked.keys()) this.counted(id, from, 0);
        return this.workerGone(from);
      case types.question:
        return this.askClients(from, data);
      case types.socketsJoin:
        return super.addSockets(optionsOf(data), data.rooms as Room[]);
      case types.socketsLeave:
        return super.delSockets(optionsOf(data), data.rooms as Room[]);
      case types.disconnectSockets:
        return super.disconnectSockets(optionsOf(data), data.close === true);
      case types.fetchSockets: {
        const found = super.fetchSockets(optionsOf(data)).then((sockets) => {
          const described = (sockets as Socket[]).map(detailsOf);
          this.answer(from, types.fetchedSockets, { requestId: data.requestId, sockets: described });
        });
        return own('fetching sockets for another server', found);
      }
      case types.serverSideEmit:
        return this.emitHere(from, data);
      case types.fetchedSockets:
        return this.questions.get(data.requestId as string)?.answered(from, data.sockets);
      case types.serverSideAnswer:
        return this.questions.get(data.requestId as string)?.answered(from, data.packet);
      case types.clientAnswer:
        return this.asked.get(data.requestId as string)?.onAnswer(data.packet);
      case types.clientCount:
        return this.counted(data.requestId as string, from, data.clientCount as number);
    }
  }

  greet(worker: string): void {
    this.sendTo(worker, types.greet);
    this.otherServers.emit('here', worker);
  }

  /** Nothing waits for answers of that worker any longer. */
  workerGone(worker: string): void {
    if (!this.servers.delete(worker)) return;
    for (const question of [...this.questions.values()]) question.gone(worker);
    this.otherServers.emit('gone', worker);
  }

  /** Has the clients of this worker answer a broadcast of another one. */
  private askClients(from: string, data: Data): void {
    const { requestId } = data;
    const packet = data.packet as BroadcastPacket;
    const options = optionsOf(data);
    let missing = 0;
    let timer: NodeJS.Timeout | undefined;
    const onCount = (clientCount: number) => {
      missing = clientCount;
      this.answer(from, types.clientCount, { requestId, clientCount });
    };
    super.broadcastWithAck(packet, options, onCount, (answer) => {
      if (--missing === 0) clearTimeout(timer);
      this.answer(from, types.clientAnswer, { requestId, packet: answer });
    });
    if (missing === 0) return;
    // As Socket.IO does for the broadcasts of this worker.
    const forget = () => {
      for (const socket of this.namespace.sockets.values()) forgetAcknowledgement(socket, packet);
    };
    timer = setTimeout(forget, options.flags?.timeout).unref();
  }

  private counted(requestId: string, server: string, clients: number): void {
    const asked = this.asked.get(requestId);
    if (asked?.uncounted.delete(server)) asked.onCount(clients);
  }

  /** Calls the listeners of an event between servers. */
  private emitHere(from: string, { packet, requestId }: Data): void {
    if (requestId === undefined) return emitServerSide(this.namespace, packet as unknown[]);
    let isAnswered = false;
    emitServerSide(this.namespace, [
      ...(packet as unknown[]),
      (answer: unknown) => {
        if (isAnswered) return;
        isAnswered = true;
        this.answer(from, types.serverSideAnswer, { requestId, packet: answer });
      },
    ]);
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
    super.broadcastWithAck(packet, options, onCount, onAnswer);
  }

  private askOthers(
    packet: BroadcastPacket,
    options: BroadcastOptions,
    onCount: (clients: number) => void,
    onAnswer: (value: unknown) => void,
  ): void {
    const requestId = randomUUID();
    // A packet with an acknowledgement gets an id of its own from each worker.
    const servers = this.askAbout(options, types.question, { packet, requestId });
    // Socket.IO waits for a count of each server.
    for (const server of this.servers) if (!servers.includes(server)) onCount(0);
    if (servers.length === 0) return;
    this.asked.set(requestId, { uncounted: new Set(servers), onCount, onAnswer });
    // Socket.IO does not tell whether it still waits.
    setTimeout(() => this.asked.delete(requestId), options.flags?.timeout).unref();
  }

  override addSockets(options: BroadcastOptions, rooms: Room[]): void {
    this.tellAbout(options, types.socketsJoin, { rooms });
    if (!isLocal(options)) this.bus.expect(this.name, rooms.map(nameOf), Array.from(options.rooms, nameOf));
    super.addSockets(options, rooms);
  }

  override delSockets(options: BroadcastOptions, rooms: Room[]): void {
    this.tellAbout(options, types.socketsLeave, { rooms });
    super.delSockets(options, rooms);
  }

  override disconnectSockets(options: BroadcastOptions, close: boolean): void {
    this.tellAbout(options, types.disconnectSockets, { close });
    super.disconnectSockets(options, close);
  }

  // biome-ignore lint/suspicious/noExplicitAny: as the base class declares it
  override async fetchSockets(options: BroadcastOptions): Promise<any[]> {
    const here = await super.fetchSockets(options);
    if (isLocal(options)) return here;
    const requestId = randomUUID();
    const servers = this.askAbout(options, types.fetchSockets, { requestId });
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
    if (typeof answer !== 'function') return this.tell(types.serverSideEmit, { packet });
    if (this.servers.size === 0) return answer(null, []);
    const requestId = randomUUID();
    this.tell(types.serverSideEmit, { requestId, packet: packet.slice(0, -1) });
    this.ask(requestId, this.servers, undefined, answer as never);
  }

  /** Waits for the answers to a question that was sent. */
  private ask(
    id: string,
    servers: Iterable<string>,
    timeoutMs: number | undefined,
    onEnd: (error: Error | null, answers: unknown[]) => void,
  ): void {
    const question = new Question<string, unknown>(servers, timeoutMs || ANSWER_TIMEOUT_MS, ({ answers, missing }) => {
      this.questions.delete(id);
      const error = missing.size > 0 ? new Error(`timeout reached: missing ${missing.size} responses`) : null;
      onEnd(error, [...answers.values()]);
    });
    this.questions.set(id, question);
  }

  /**
   * Asks the other servers that may have sockets of a selection.
   * @returns those that answer
   * @throws what encoding throws
   */
  private askAbout(options: BroadcastOptions, type: number, data: Data): string[] {
    if (this.servers.size === 0) return [];
    const servers = this.bus.holdersOf(this.name, Array.from(options.rooms, nameOf), this.servers);
    const body = encodeMessage(this.name, { ...data, opts: plain(options) });
    // Who is to answer gets it whatever is announced until the end of the window.
    if (servers) for (const server of servers) this.bus.sendTo(server, type, body);
    else this.bus.sendToAll(type, body);
    return servers ?? [...this.servers];
  }

  /** Sends an event of a service to all other servers of the namespace, or to one. */
  private notify(packet: unknown[], to: string | undefined): void {
    if (to === undefined) this.tell(types.serverSideEmit, { packet });
    else this.sendTo(to, types.serverSideEmit, { packet });
  }

  /** Answers another server, which waits for it. */
  private answer(to: string, type: number, data: Data): void {
    attempt('answering another server', () => this.bus.sendTo(to, type, encodeAnswer(type, this.name, data)));
  }

  private sendTo(worker: string, type: number, data?: Data): void {
    this.bus.sendTo(worker, type, encodeMessage(this.name, data));
  }

  /** Tells all other servers. @throws what encoding throws */
  private tell(type: number, data?: Data): void {
    if (this.bus.hasPeers) this.bus.sendToAll(type, encodeMessage(this.name, data));
    // Greetings are for workers that have been found.
    else if (data) this.bus.lose();
  }

  /** Tells the servers that have sockets of a selection. @throws what encoding throws */
  private tellAbout(options: BroadcastOptions, type: number, data: Data): void {
    if (isLocal(options)) return;
    if (!this.bus.hasPeers) return this.bus.lose();
    const rooms = Array.from(options.rooms, nameOf);
    const body = encodeMessage(this.name, { ...data, opts: plain(options) });
    if (rooms.length === 0) this.bus.sendToAll(type, body);
    else this.bus.sendToRooms(this.name, rooms, type, body);
  }

  private encode(packet: Packet): EncodedPacket {
    packet.nsp = this.name;
    const encoded = this.namespace.server.encoder.encode(packet as never) as EncodedPackets;
    return new EncodedPacket(packet.type, packet.nsp, encoded, () => packet.data);
  }
}

function isLocal({ flags }: BroadcastOptions): boolean {
  return flags?.local === true;
}

/** The options in a message that has arrived. */
function optionsOf({ opts }: Data): BroadcastOptions {
  const { rooms, except, flags } = opts as ReturnType<typeof plain>;
  return { rooms: new Set(rooms), except: new Set(except), flags };
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
