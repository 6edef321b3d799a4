/** Whose sessions the operator ends: of a user, of an address, of one socket or connection, or of all members of a room. */
export type RemovalTarget =
  | { user: string }
  | { address: string }
  | { id: string }
  | { room: string; namespace: string };

/** The parts of a session that tell whose it is. */
export interface Described {
  readonly sid: string;
  readonly rooms: readonly string[];
  readonly data: unknown;
  readonly address?: string | undefined;
  readonly connection?: string | undefined;
}

/** How the application and the engine name clients. */
export interface Naming {
  /** The user of a socket with this data. */
  userOf(data: unknown): string | undefined;
  /** One way to write each address, so that two of them can be compared. */
  canonical(address: string): string;
}

/** Sessions are removed that end up to so long after the operator's action, in ms: clocks of machines differ. */
const SLACK_MS = 1000;
/** The number of removals that are remembered. */
const MAX_REMEMBERED = 10_000;

/**
 * The sessions that the operator has ended in one namespace. What another worker had sent of such a session may arrive
 * afterwards, so that each removal is remembered for as long as sessions can be recovered.
 */
export class Removals {
  /** When the operator acted, by what names the sessions. */
  private readonly at = new Map<string, number>();

  constructor(private readonly naming: Naming) {}

  /** Remembers a removal. Returns whether a session is one of those. */
  add(target: RemovalTarget): (session: Described) => boolean {
    const key = this.keyOf(target);
    this.at.delete(key);
    this.at.set(key, Date.now());
    const [oldest] = this.at.keys();
    if (this.at.size > MAX_REMEMBERED) this.at.delete(oldest!);
    return (session) => this.keysOf(session).includes(key);
  }

  /** Whether a session was removed after it had ended. */
  covers(session: Described & { readonly disconnectedAt: number }): boolean {
    if (this.at.size === 0) return false;
    const latest = session.disconnectedAt - SLACK_MS;
    return this.keysOf(session).some((key) => (this.at.get(key) ?? Number.NEGATIVE_INFINITY) >= latest);
  }

  sweep(oldest: number): void {
    for (const [key, at] of this.at) if (at < oldest) this.at.delete(key);
  }

  private keyOf(target: RemovalTarget): string {
    if ('user' in target) return `user ${target.user}`;
    if ('room' in target) return `room ${target.room}`;
    return 'id' in target ? `id ${target.id}` : `address ${this.naming.canonical(target.address)}`;
  }

  private keysOf({ sid, rooms, data, address, connection }: Described): string[] {
    const keys = rooms.map((room) => `room ${room}`);
    keys.push(`id ${sid}`);
    if (connection !== undefined) keys.push(`id ${connection}`);
    if (address !== undefined) keys.push(`address ${this.naming.canonical(address)}`);
    const user = this.naming.userOf(data);
    if (user !== undefined) keys.push(`user ${user}`);
    return keys;
  }
}
