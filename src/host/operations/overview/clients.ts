import { GjallarError } from '../../../base/errors.js';

/** The clients of one page of the table. */
export const PAGE = 50;
/** Longer texts are the name of nothing. */
const MAX_LENGTH = 1024;

/** Which clients the operator looks for. */
export interface ClientQuery {
  /** A part of the user, the address or the id; empty for all. */
  readonly search: string;
  /** The room, as Socket.IO names it, whose members are meant; undefined for all clients. */
  readonly room: string | undefined;
  readonly namespace: string;
  /** The last id of the page before. */
  readonly after: string;
}

/** What the operator sees of a socket. */
export interface ClientFacts {
  readonly id: string;
  readonly namespace: string;
  readonly user: string | undefined;
  readonly address: string;
  readonly transport: string;
  /** Some of its rooms, as Socket.IO names them and as users do. */
  readonly rooms: { room: string; name: string }[];
  readonly roomCount: number;
}

/** What one worker has found: the first clients after the page before, and how many match in all. */
export interface ClientList {
  readonly matching: number;
  readonly clients: readonly ClientFacts[];
}

/** A page of the table. */
export interface ClientPage extends ClientList {
  readonly clients: readonly (ClientFacts & { worker: number })[];
  /** Whether clients follow. */
  readonly hasMore: boolean;
  /** Whether all workers of the machine have answered. */
  readonly complete: boolean;
}

export const byId = ({ id: one }: { id: string }, { id: other }: { id: string }): number =>
  one < other ? -1 : one > other ? 1 : 0;

/** @throws GjallarError BAD_INPUT */
export function readClientQuery(query: URLSearchParams): ClientQuery {
  for (const [name, value] of query) {
    if (value.length > MAX_LENGTH)
      throw new GjallarError('BAD_INPUT', `"${name}" is too long. Send at most 1024 characters.`);
  }
  const {
    search = '',
    after = '',
    namespace = '/',
    room,
  } = Object.fromEntries(query) as Record<string, string | undefined>;
  return { search, after, namespace, room };
}

/** Merges what workers have found. */
export function mergeClients(lists: ReadonlyMap<number, ClientList | undefined>): ClientPage {
  const clients = [...lists]
    .flatMap(([worker, list]) => (list?.clients ?? []).map((client) => ({ ...client, worker })))
    .sort(byId);
  const known = [...lists.values()].filter((list) => list !== undefined);
  return {
    matching: known.reduce((sum, { matching }) => sum + matching, 0),
    clients: clients.slice(0, PAGE),
    // A worker whose list is full may have more.
    hasMore: clients.length > PAGE || known.some((list) => list.clients.length === PAGE),
    complete: known.length === lists.size,
  };
}
