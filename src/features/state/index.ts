/**
 * State rooms: the newest value of each key, for every client, however slow.
 *
 * ```
 * const quotes = stateRoom(io, 'quotes', { event: 'quote', maxKeys: 10_000 });
 * quotes.set('AAPL', { bid: 187.1, ask: 187.2 });
 * io.on('connection', (socket) => socket.on('watch', (options, ack) => ack(quotes.join(socket, options))));
 * ```
 *
 * A client listens with `socket.on('quote', (changes, meta) => …)`. `changes` is a list of `[key, value]`, and of `[key]`
 * for what was deleted.
 *
 * ## Contract
 *
 * - A member first gets a snapshot, or the changes since the version that it names. Then it gets every change, without a
 *   gap between the two.
 * - Only the newest value of a key is sent. A member that has fallen behind gets the newest value of each key that it
 *   lacks, as fast as it reads. It never gets an older value after a newer one, and state alone never gets it closed as
 *   a slow client.
 * - A member that is behind costs this worker one number, and at most about 100 KB of output.
 * - A value is encoded when it is set, once for all members and workers.
 */
import type { Namespace, Server } from 'socket.io';
import type { Adapter } from 'socket.io-adapter';
import { GjallarError } from '../../base/errors.js';
import { hubServices } from '../../base/hub-service.js';
import { own } from '../../base/owner.js';
import { thisProcess } from '../../base/process.js';
import { endWith, namespaceOf } from '../../io/socket-io.private.js';
import { linkOverHub, openHubService } from './hub-service.js';
import { type StateRoomOptions, settingsOf } from './options.js';
import { SequencerClient } from './replica/client.js';
import { StateRoom } from './room.js';
import { localLink } from './sequencer/local.js';

export type { StateRoomStats } from '../../io/rooms/stores.js';
export type { Chunk, StateChange, StateFormat, StateMeta, StateReader } from './members/format.js';
export type { Joined, JoinOptions, SetOptions, StateRoomOptions } from './options.js';
export { StateRoom } from './room.js';

// biome-ignore lint/suspicious/noExplicitAny: socket.io's own types for servers with any events
type AnyNamespace = Namespace<any, any, any, any>;
// biome-ignore lint/suspicious/noExplicitAny: socket.io's own types for servers with any events
type AnyServer = Server<any, any, any, any>;

/** The state rooms of a namespace, and what keeps them the same on all workers. */
interface Rooms {
  readonly client: SequencerClient;
  readonly byName: Map<string, StateRoom>;
}

const rooms = new WeakMap<AnyNamespace, Rooms>();
/** Rooms that are about to end. */
const ending = new WeakMap<AnyNamespace, Set<Promise<void>>>();

/**
 * Creates a state room. Call it on every worker with the same name and options. The room ends with its server or namespace.
 * @param of a server of gjallar, whose namespace `/` has the room, or another namespace of it
 * @param name 1 to 128 characters
 * @throws GjallarError BAD_INPUT for options out of range, or if the namespace has a room of this name
 */
export function stateRoom(of: AnyServer | AnyNamespace, name: string, options: StateRoomOptions = {}): StateRoom {
  const nsp: AnyNamespace = 'of' in of ? of.of('/') : of;
  const settings = settingsOf(name, options);
  const { client, byName } = rooms.get(nsp) ?? { client: clientOf(nsp), byName: new Map<string, StateRoom>() };
  if (byName.has(name)) {
    throw new GjallarError('BAD_INPUT', `There is a state room "${name}" already. Create it once, and keep it.`);
  }
  const room = new StateRoom(nsp, client, name, settings, (ended) => {
    byName.delete(name);
    if (byName.size === 0) rooms.delete(nsp);
    const all = ending.get(nsp) ?? new Set();
    ending.set(nsp, all.add(ended));
    own(
      'closing a state room',
      ended.finally(() => all.delete(ended)),
    );
  });
  byName.set(name, room);
  rooms.set(nsp, { client, byName });
  endWith(nsp.adapter, closeAll);
  return room;
}

const hubClients = new WeakMap<object, SequencerClient>();

/** What keeps the rooms of a namespace: the hub of the machine, for all rooms of this worker, or this process. */
function clientOf(nsp: AnyNamespace): SequencerClient {
  const { hubLink } = thisProcess;
  if (!hubLink) return new SequencerClient(localLink(nsp));
  const client =
    hubClients.get(hubLink) ?? new SequencerClient(linkOverHub(hubLink(hubServices.state, openHubService)));
  hubClients.set(hubLink, client);
  return client;
}

function closeAll(adapter: Adapter): Promise<unknown> {
  const nsp: AnyNamespace = namespaceOf(adapter);
  const closed = [...(rooms.get(nsp)?.byName.values() ?? [])].map((room) => room.close());
  return Promise.all([...closed, ...(ending.get(nsp) ?? [])]);
}
