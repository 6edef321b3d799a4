import { expect } from '@jest/globals';
import { WebSocket } from 'ws';
import type { ChatClient } from '../../../support/clients.js';

type Change = [key: string, value: unknown] | [key: string];
interface Meta {
  version?: string;
  snapshot?: true;
  more?: true;
}

/** What a client has of a state room, kept as the documentation tells clients to. */
export class Followed {
  readonly values = new Map<string, unknown>();
  readonly messages: { changes: readonly Change[]; meta: Meta }[] = [];
  version: string | undefined;
  private isComplete = false;
  private readonly waiting = new Set<() => void>();
  private refused: Error | undefined;

  /** The server does not let the client watch: what it waits for never comes. */
  refuse(reason: string): void {
    this.refused = new Error(`The server refused the client: ${reason}`);
    for (const check of this.waiting) check();
  }

  receive(changes: readonly Change[], meta: Meta): void {
    this.messages.push({ changes, meta });
    if (meta.snapshot) this.values.clear();
    for (const [key, ...value] of changes) {
      if (value.length > 0) this.values.set(key, value[0]);
      else this.values.delete(key);
    }
    this.version = meta.version ?? this.version;
    this.isComplete = !meta.more;
    for (const check of this.waiting) check();
  }

  /** Resolves once what the client has fits. */
  until(fits: (values: ReadonlyMap<string, unknown>) => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const check = () => {
        const isThere = this.isComplete && fits(this.values);
        if (!isThere && !this.refused) return;
        this.waiting.delete(check);
        if (isThere) resolve();
        else reject(this.refused);
      };
      this.waiting.add(check);
      check();
    });
  }

  equals(expected: object): Promise<void> {
    return this.until((values) => {
      try {
        expect(Object.fromEntries(values)).toEqual(expected);
        return true;
      } catch {
        return false;
      }
    });
  }
}

/** Follows a room with a client of Socket.IO, across its reconnections. */
export function follow(
  socket: ChatClient,
  room: string,
  more: object = {},
): Followed & { readonly socket: ChatClient } {
  const followed = Object.assign(new Followed(), { socket });
  socket.on(
    `state:${room}` as never,
    ((...what: Parameters<Followed['receive']>) => followed.receive(...what)) as never,
  );
  const watch = () =>
    socket.emit('watch', { room, version: followed.version, ...more }, (reply) => {
      if (!reply.ok) followed.refuse(`${reply.code}: ${reply.message}`);
    });
  socket.on('connect', watch);
  if (socket.connected) watch();
  return followed;
}

/** A plain WebSocket that watches a room. */
export class PlainState extends Followed {
  private static readonly open = new Set<WebSocket>();

  private constructor(readonly socket: WebSocket) {
    super();
    PlainState.open.add(socket);
    socket.on('message', (data) => {
      const { changes, ...meta } = JSON.parse(String(data)) as Meta & { changes: Change[] };
      this.receive(changes, meta);
    });
    socket.on('close', (code, reason) => this.refuse(`${code} ${reason}`));
  }

  /** @param query parameters of the URL */
  static follow(url: string, room: string, query: Record<string, string> = {}): PlainState {
    const path = `/api/state/${encodeURIComponent(room)}?${new URLSearchParams(query)}`;
    return new PlainState(new WebSocket(`${url.replace('http', 'ws')}${path}`));
  }

  static closeAll(): void {
    for (const socket of PlainState.open) socket.terminate();
    PlainState.open.clear();
  }
}

/** The state rooms of a server over HTTP. */
export class StateApi {
  constructor(
    private readonly url: string,
    private readonly key: string,
  ) {}

  put = (room: string, key: string, value: unknown) => this.call('PUT', room, key, value);
  patch = (room: string, key: string, fields: unknown) => this.call('PATCH', room, key, fields);
  delete = (room: string, key: string) => this.call('DELETE', room, key);
  get = (room: string, key: string) => this.call('GET', room, key);

  private async call(method: string, room: string, key: string, value?: unknown): Promise<Record<string, unknown>> {
    const path = [room, key].map(encodeURIComponent).join('/');
    const body = value === undefined ? {} : { body: JSON.stringify(value) };
    const headers = { Authorization: `Bearer ${this.key}` };
    const response = await fetch(`${this.url}/api/state/${path}`, { method, headers, ...body });
    return (await response.json()) as Record<string, unknown>;
  }
}
