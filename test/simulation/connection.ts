import { EventEmitter } from 'node:events';
import type { Outbox } from '../../src/engine/delivery/outbox.js';
import { Line } from './network.js';
import type { Process, Scheduler } from './scheduler.js';

/** What a client hears of its connection, in a turn of its own. */
export interface ConnectionListener {
  onPacket(packet: string): void;
  onClosed(): void;
}

/** The session of Engine.IO under a client of socket.io, as its server sees it, over a connection that the scheduler owns. */
export class Connection extends EventEmitter {
  readonly protocol = 4;
  readonly transport = { writable: true, name: 'websocket' };
  readonly request = { headers: {}, url: '/', connection: {}, _query: {} };
  readonly remoteAddress = '192.0.2.1';
  readyState: 'open' | 'closed' = 'open';
  outbox: Pick<Outbox, 'afterHeld'> | undefined;
  private readonly toClient: Line;
  private readonly toServer: Line;
  /** Whether the client counts it as open. */
  private isOpenThere = true;
  private readonly onServerEnd = () => this.toClient.send(() => this.closedThere());

  constructor(
    private readonly scheduler: Scheduler,
    readonly id: string,
    private readonly server: Process,
    client: Process,
    private readonly listener: ConnectionListener,
  ) {
    super();
    this.toClient = new Line(scheduler, `to ${client.name}`, client);
    this.toServer = new Line(scheduler, `from ${client.name}`, server);
    server.onEnd.push(this.onServerEnd);
  }

  // The server's end

  write(packet: string): void {
    // Behind what the worker holds for others, as with the engine.
    this.outbox!.afterHeld(() => {
      if (this.readyState !== 'open') return;
      this.toClient.send(() => {
        if (this.isOpenThere) this.listener.onPacket(packet);
      });
    });
  }

  close(): void {
    this.closedHere('forced close');
  }

  private closedHere(reason: string): void {
    if (this.readyState !== 'open') return;
    this.readyState = 'closed';
    this.server.onEnd = this.server.onEnd.filter((tell) => tell !== this.onServerEnd);
    this.toClient.send(() => this.closedThere());
    this.emit('close', reason);
  }

  // The client's end

  /** The connection of a new client arrives at its server. */
  begin(accept: () => void): void {
    this.toServer.send(accept);
  }

  send(packet: string): void {
    this.toServer.send(() => {
      if (this.readyState === 'open') this.emit('data', packet);
    });
  }

  /** Closes it in order. */
  end(): void {
    this.isOpenThere = false;
    this.toServer.send(() => this.closedHere('transport close'));
  }

  /** What is on its way is lost. The server notices after some time. */
  cut(noticedMs: number): void {
    if (!this.isOpenThere) return;
    this.isOpenThere = false;
    if (noticedMs === 0) this.toServer.send(() => this.closedHere('transport close'));
    else this.scheduler.add(this.scheduler.now + noticedMs, this.server, () => this.closedHere('ping timeout'));
    this.listener.onClosed();
  }

  private closedThere(): void {
    if (!this.isOpenThere) return;
    this.isOpenThere = false;
    this.listener.onClosed();
  }
}
