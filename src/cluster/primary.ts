import cluster, { type Worker } from 'node:cluster';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { GjallarError } from '../errors.js';
import { type FromPrimary, type FromWorker, MESH_DIRECTORY } from './protocol.js';

export interface PrimaryOptions {
  workers: number;
  host: string;
  /** 0 takes a free port. */
  port: number;
  log: Logger;
}

/** A worker that lived shorter than this, in ms, counts as one that keeps dying. */
const SHORT_LIFE = 10_000;
const FIRST_DELAY = 100;
const LONGEST_DELAY = 10_000;
/** How long a worker has to stop before it is killed, in ms. */
const STOP_TIMEOUT = 10_000;

/** Forks the workers, replaces those that die, and stops all of them. */
export class Primary {
  private readonly meshDirectory = mkdtempSync(join(tmpdir(), 'gjallar-'));
  private readonly meshed = new Set<number>();
  private readonly listening = new Set<number>();
  private readonly bornAt = new Map<number, number>();
  private readonly respawns = new Set<NodeJS.Timeout>();
  private port = 0;
  private deaths = 0;
  private stopping = false;
  private started: { resolve: (port: number) => void; reject: (error: Error) => void } | undefined;

  constructor(private readonly options: PrimaryOptions) {}

  /** Resolves with the port when all workers listen for the first time. */
  async start(): Promise<number> {
    this.port = await this.findPort();
    cluster.on('message', (worker, message: FromWorker) => this.onMessage(worker, message));
    cluster.on('exit', (worker, code, signal) => this.onExit(worker, code, signal));
    return new Promise((resolve, reject) => {
      this.started = { resolve, reject };
      for (let i = 0; i < this.options.workers; i++) this.fork();
    });
  }

  /** Stops all workers. Resolves when they are gone. */
  async stop(): Promise<void> {
    this.stopping = true;
    for (const timer of this.respawns) clearTimeout(timer);
    const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
    await Promise.all(workers.map((worker) => this.stopWorker(worker)));
    rmSync(this.meshDirectory, { recursive: true, force: true });
  }

  private stopWorker(worker: Worker): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.options.log.warn({ worker: worker.id }, 'a worker did not stop in time and is killed');
        worker.process.kill('SIGKILL');
      }, STOP_TIMEOUT);
      worker.once('exit', () => {
        clearTimeout(timer);
        resolve();
      });
      if (worker.isDead()) worker.emit('exit');
      else if (this.listening.has(worker.id)) send(worker, { type: 'stop' });
      // One that is only starting has no clients, and may not hear yet.
      else worker.process.kill('SIGKILL');
    });
  }

  /**
   * The workers share their port with SO_REUSEPORT, which would let them share it with another server of the same
   * user as well, unnoticed. An ordinary listener finds that out, and which port is free where any will do:
   * uWebSockets.js does not share port 0.
   */
  private findPort(): Promise<number> {
    const { host, port } = this.options;
    return new Promise((resolve, reject) => {
      const server = createServer();
      server.once('error', (error: NodeJS.ErrnoException) => {
        const reason = error.code === 'EADDRINUSE' ? 'another server uses it' : error.message;
        reject(new GjallarError('BAD_CONFIG', `cannot listen on PORT=${port} at HOST=${host}: ${reason}`));
      });
      server.listen(port, host, () => {
        const { port: found } = server.address() as AddressInfo;
        server.close(() => resolve(found));
      });
    });
  }

  private fork(): void {
    const worker = cluster.fork({ [MESH_DIRECTORY]: this.meshDirectory });
    this.bornAt.set(worker.id, Date.now());
  }

  private onMessage(worker: Worker, message: FromWorker): void {
    switch (message.type) {
      case 'meshed':
        send(worker, { type: 'join', workers: [...this.meshed] });
        this.meshed.add(worker.id);
        send(worker, { type: 'listen', port: this.port });
        return;
      case 'listening':
        this.listening.add(worker.id);
        if (this.listening.size === this.options.workers) this.started?.resolve(this.port);
        return;
      case 'failed':
        this.started?.reject(new GjallarError('BAD_CONFIG', message.reason));
    }
  }

  private onExit(worker: Worker, code: number, signal: string): void {
    this.meshed.delete(worker.id);
    this.listening.delete(worker.id);
    const age = Date.now() - (this.bornAt.get(worker.id) ?? 0);
    this.bornAt.delete(worker.id);
    if (this.stopping) return;
    this.deaths = age < SHORT_LIFE ? this.deaths + 1 : 1;
    const delay = this.deaths === 1 ? 0 : Math.min(FIRST_DELAY * 2 ** (this.deaths - 2), LONGEST_DELAY);
    this.options.log.error({ worker: worker.id, code, signal, delay }, 'a worker died and will be replaced');
    const timer = setTimeout(() => {
      this.respawns.delete(timer);
      this.fork();
    }, delay);
    this.respawns.add(timer);
  }
}

function send(worker: Worker, message: FromPrimary): void {
  // A worker that has just died has no channel any more; its exit is dealt with by itself.
  if (worker.isConnected()) worker.send(message, () => {});
}
