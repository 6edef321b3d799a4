import type { Adapter } from 'socket.io-adapter';
import { GjallarError } from '../../base/errors.js';
import { hubServices } from '../../base/hub-service.js';
import { own, reportFailure } from '../../base/owner.js';
import { thisProcess } from '../../base/process.js';
import { type AnyNamespace, type AnyServer, type AnySocket, namespaceOf } from '../../io/any.js';
import { endWith, nspOf } from '../../io/socket-io.private.js';
import { overHub } from '../hub-link.js';
import { answerRequests } from '../requests.js';
import { workerCodec } from './hub-service.js';
import { type Joined, type JoinOptions, type StateRoomOptions, stateSettingsOf } from './options.js';
import { SequencerClient } from './replica/client.js';
import { LocalStateRoom } from './room.js';
import { localClient } from './sequencer/local.js';

/** The state rooms of a namespace, and what keeps them the same on all workers. */
class NamespaceRooms {
  readonly byName = new Map<string, LocalStateRoom>();
  readonly client: SequencerClient;
  private endAnswers: (() => void) | undefined;

  constructor(private readonly nsp: AnyNamespace) {
    this.client = clientOf(nsp);
  }

  /** Lets clients join and leave by themselves. */
  answer(): void {
    this.endAnswers ??= answerRequests(this.nsp, this.handlersOf, (error) =>
      reportFailure('letting a client into a state room', error),
    );
  }

  end(): void {
    this.endAnswers?.();
  }

  private readonly handlersOf = (socket: AnySocket) => {
    /** Joins that `mayJoin` has not decided on. */
    const asking = new Map<string, object>();
    return {
      'state:join': (input: unknown) => this.join(socket, input, asking),
      'state:leave': async (name: unknown) => {
        asking.delete(name as string);
        this.byName.get(name as string)?.leave(socket);
        return {};
      },
    };
  };

  private async join(socket: AnySocket, input: unknown, asking: Map<string, object>): Promise<Joined> {
    const { room: name, ...options } = (input ?? {}) as JoinOptions & { room?: unknown };
    const room = this.byName.get(name as string);
    if (!room) throw new GjallarError('BAD_ROOM', 'This server has no state room of this name. Check the name.');
    const turn = {};
    asking.set(room.name, turn);
    const mayJoin = await room.mayJoin(socket);
    if (asking.get(room.name) !== turn) throw new GjallarError('BAD_INPUT', 'The client has left, or joined again.');
    asking.delete(room.name);
    if (!mayJoin) {
      const text = `This client may not join the state room "${room.name}". The server decides with mayJoin.`;
      throw new GjallarError('ROOM_FORBIDDEN', text);
    }
    return room.join(socket, options);
  }
}

const rooms = new WeakMap<AnyNamespace, NamespaceRooms>();
/** Rooms that are about to end. */
const ending = new WeakMap<AnyNamespace, Set<Promise<void>>>();

/** @throws GjallarError as createStateRoom() */
export function openStateRoom(
  of: AnyServer | AnyNamespace,
  name: string,
  options: StateRoomOptions = {},
): LocalStateRoom {
  const nsp: AnyNamespace = namespaceOf(of);
  const settings = stateSettingsOf(name, options);
  const known = rooms.get(nsp) ?? new NamespaceRooms(nsp);
  const { client, byName } = known;
  if (byName.has(name)) {
    throw new GjallarError('BAD_INPUT', `There is a state room "${name}" already. Create it once, and keep it.`);
  }
  const room = new LocalStateRoom(nsp, client, name, settings, (ended) => {
    byName.delete(name);
    if (byName.size === 0) {
      known.end();
      rooms.delete(nsp);
    }
    const all = ending.get(nsp) ?? new Set();
    ending.set(nsp, all.add(ended));
    own(
      'closing a state room',
      ended.finally(() => all.delete(ended)),
    );
  });
  byName.set(name, room);
  rooms.set(nsp, known);
  if (settings.answersClients) known.answer();
  endWith(nsp.adapter, closeAll);
  return room;
}

const hubClients = new WeakMap<object, SequencerClient>();

/** What keeps the rooms of a namespace: the hub of the machine, for all rooms of this worker, or this process. */
function clientOf(nsp: AnyNamespace): SequencerClient {
  const { hubLink } = thisProcess;
  if (!hubLink) return localClient(nsp);
  const client = hubClients.get(hubLink) ?? new SequencerClient(overHub(hubLink(hubServices.state), workerCodec));
  hubClients.set(hubLink, client);
  return client;
}

function closeAll(adapter: Adapter): Promise<unknown> {
  const nsp: AnyNamespace = nspOf(adapter);
  const closed = [...(rooms.get(nsp)?.byName.values() ?? [])].map((room) => room.close());
  return Promise.all([...closed, ...(ending.get(nsp) ?? [])]);
}
