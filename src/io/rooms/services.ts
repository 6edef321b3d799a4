import { EventEmitter } from 'node:events';
import type { Namespace } from 'socket.io';
import { MalformedMessage } from '../../base/errors.js';
import { Heartbeats } from './heartbeats.js';
import { hasOthers } from './local-adapter.js';

/** What one part of a service tells the others. */
export interface Notice {
  /** The server that it comes from. */
  readonly from: string;
  /** The service has just begun there, or the two servers have met: it asks for what it must know. */
  readonly hello?: 'new' | 'met';
  readonly message?: unknown;
}

export interface OtherServersEvents {
  /** The server can be sent to, for the first time or again. */
  here: [server: string];
  /** After its last message. */
  gone: [server: string];
}

/**
 * The other servers of a namespace, as its adapter knows them. The messages of one arrive in order and once each, or it is
 * reported as gone. If it is here again, messages in both directions may have been lost.
 */
export interface OtherServers extends EventEmitter<OtherServersEvents> {
  /** The name of this server. */
  readonly id: string;
  /** Sends an event to all others, or to one. */
  send(event: string, notice: Notice, to?: string): void;
  /** Where a server is known by its messages: returns whether the notice is for this one. */
  hears?(notice: Notice): boolean;
  /** Ends what {@link otherServersOf} has begun. */
  release?(): void;
}

/** An adapter that knows which servers it reaches. */
export interface AdapterWithServers {
  readonly otherServers: OtherServers;
}

class NoServers extends EventEmitter<OtherServersEvents> implements OtherServers {
  readonly id = 'alone';
  send(): void {}
}

function otherServersOf(nsp: Namespace): OtherServers {
  const { otherServers } = nsp.adapter as { otherServers?: OtherServers };
  if (otherServers) return otherServers;
  return hasOthers(nsp.adapter) ? Heartbeats.of(nsp) : new NoServers();
}

export interface ServiceListener {
  /** @throws MalformedMessage */
  onMessage(message: unknown, from: string): void;
  /**
   * A server asks for what it must know.
   * @param isNew whether the service has just begun there; otherwise, messages in both directions may have been lost
   */
  onHere(server: string, isNew: boolean): void;
  onGone(server: string): void;
}

export type ServiceChannel = Pick<Service, 'send' | 'close'>;
/** Lets a service begin. */
export type OpenService = (listener: ServiceListener) => ServiceChannel;

/**
 * A service of a namespace that runs on all its servers, such as presence.
 *
 * ```
 * ONE                                  OTHER
 *  │  hello: new (to all)               │  the service begins, or the servers meet
 *  │ ─────────────────────────────────▶ │
 *  │                           message  │  what ONE must know
 *  │ ◀───────────────────────────────── │
 * ```
 */
class Service {
  private readonly servers: OtherServers;
  private readonly onMet = (server: string) =>
    this.servers.send(this.event, { from: this.servers.id, hello: 'met' }, server);
  private readonly onGone = (server: string) => this.listener.onGone(server);
  private readonly onNotice = (notice: unknown) => this.receive(notice);

  constructor(
    private readonly nsp: Namespace,
    private readonly event: string,
    private readonly listener: ServiceListener,
    private readonly onMalformed: (reason: string) => void,
  ) {
    this.servers = otherServersOf(nsp);
    nsp.on(event as never, this.onNotice as never);
    this.servers.on('here', this.onMet);
    this.servers.on('gone', this.onGone);
    this.servers.send(event, { from: this.servers.id, hello: 'new' });
  }

  /** Sends to the service of all other servers, or of one. */
  send(message: unknown, to?: string): void {
    this.servers.send(this.event, { from: this.servers.id, message }, to);
  }

  close(): void {
    this.nsp.off(this.event as never, this.onNotice as never);
    this.servers.off('here', this.onMet);
    this.servers.off('gone', this.onGone);
    this.servers.release?.();
  }

  /** Other programs may publish on the backplane, too. */
  private receive(notice: unknown): void {
    try {
      if (!isNotice(notice)) throw new MalformedMessage('a notice names no server');
      if (this.servers.hears?.(notice) === false) return;
      const { from, hello, message } = notice;
      if (hello) this.listener.onHere(from, hello === 'new');
      else this.listener.onMessage(message, from);
    } catch (error) {
      if (!(error instanceof MalformedMessage)) throw error;
      this.onMalformed(error.message);
    }
  }
}

function isNotice(value: unknown): value is Notice {
  return typeof (value as Partial<Notice> | null | undefined)?.from === 'string';
}

/**
 * A service that begins with the returned function.
 * @param event its event between servers
 * @param onMalformed called when a message of another server is dropped
 */
export function serviceOf(
  nsp: Namespace,
  event: string,
  onMalformed: (reason: string) => void = () => {},
): OpenService {
  return (listener) => new Service(nsp, event, listener, onMalformed);
}
