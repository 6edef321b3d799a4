import type { Serializable } from 'node:child_process';
import cluster, { type Worker } from 'node:cluster';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { GjallarError } from '../../errors.js';
import {
  type Envelope,
  type FromPrimary,
  type FromWorker,
  type HandoverOrder,
  MACHINE_ID,
  MESH_DIRECTORY,
  opened,
  type Question,
  socketOf,
} from '../protocol.js';
import { Questions } from '../questions.js';
import { movesConnections, SharedPorts } from './ports.js';
import { Watchdog } from './watchdog.js';

export interface PrimaryOptions {
  workers: number;
  /** The file that the workers run. By default, it is the file of the primary. */
  file?: string | undefined;
  /** The arguments of the workers. By default, they are those of the primary. */
  arguments?: readonly string[] | undefined;
  /** Node.js flags of the workers; the primary's own flags follow them. */
  nodeFlags: readonly string[];
  /** How long a drain may take when workers stop or are replaced, in ms. */
  drainTimeout: number;
  /** How long workers that are replaced hold the WebSockets of sessions that they have handed over, in ms. */
  reloadHold: number;
  log: Logger;
  /** Called with the messages that the application on a worker sends to its parent process. */
  onMessage?: ((message: unknown) => void) | undefined;
}

/** A worker that lived shorter than this, in ms, delays its replacement. */
const SHORT_LIFE_MS = 10_000;
const FIRST_DELAY_MS = 100;
const MAX_DELAY_MS = 10_000;
/** How long a worker may take to stop after its drain before it is killed, in ms. */
const STOP_TIMEOUT_MS = 10_000;
/** The same for an immediate stop. */
const STOP_NOW_TIMEOUT_MS = 3000;

/** After this number of further reloads, a worker does not hold WebSockets any more. */
const MAX_HELD_RELOADS = 2;

/** How long workers may take to answer a question, in ms. */
const ANSWER_TIMEOUT_MS = 2000;

/** A worker, as the primary sees it. */
interface WorkerRecord {
  readonly worker: Worker;
  readonly bornAt: number;
  isMeshed: boolean;
  isListening: boolean;
  /** Whether it is being replaced, or replaces a worker that still runs. It is not forked again when it ends. */
  isSpare: boolean;
  /** Whether it has handed its sessions over and only holds their WebSockets. */
  isHolder: boolean;
  /** Called when it reports this, or is gone. */
  readonly awaited: Map<FromWorker['type'], () => void>;
}

/** Forks the workers, replaces workers that die, reloads them, and stops them. */
export class Primary {
  private readonly meshDirectory = makeMeshDirectory();
  private readonly environment = {
    [MESH_DIRECTORY]: this.meshDirectory,
    [MACHINE_ID]: randomBytes(6).toString('base64url'),
  };
  private readonly members = new Map<number, WorkerRecord>();
  private readonly respawns = new Set<NodeJS.Timeout>();
  private readonly watchdog: Watchdog;
  private readonly ports = new SharedPorts();
  private readonly questions = new Questions();
  private deaths = 0;
  private isLeaving = false;
  private isReloading = false;
  private deathsInAll = 0;
  private stopping = false;
  private started: { resolve: () => void; reject: (error: Error) => void } | undefined;

  constructor(private readonly options: PrimaryOptions) {
    this.watchdog = new Watchdog(options.workers, (id) => this.onHung(id, 'a worker does not respond and is killed'));
  }

  /**
   * Resolves when all workers listen for the first time.
   * @throws GjallarError BAD_CONFIG if a worker cannot run
   */
  async start(): Promise<void> {
    const { nodeFlags, file, onMessage, workers } = this.options;
    const args = this.options.arguments;
    cluster.setupPrimary({
      execArgv: [...nodeFlags, ...process.execArgv],
      ...(file !== undefined && { exec: file }),
      ...(args && { args: [...args] }),
    });
    cluster.on('message', (worker, message: unknown) => {
      const ours = opened<FromWorker>(message);
      if (ours) this.onMessage(worker, ours);
      else onMessage?.(message);
    });
    // Servers that node:cluster listens for.
    cluster.on('listening', (_worker, { address, port }) => this.ports.note(address, port));
    cluster.on('exit', (worker, code, signal) => this.onExit(worker, code, signal));
    return new Promise((resolve, reject) => {
      this.started = { resolve, reject };
      for (let i = 0; i < workers; i++) this.fork(false);
    });
  }

  /**
   * Finds out whether the workers can listen on an address, before they start.
   * @throws GjallarError BAD_CONFIG
   */
  async reserve(host: string, port: number): Promise<void> {
    const { failure } = await this.ports.claim({ host, port, turn: 0 });
    if (!failure) return;
    const isTaken = failure.code === 'EADDRINUSE';
    const reason = isTaken ? 'another server uses this port; stop it, or set another PORT' : failure.message;
    throw new GjallarError('BAD_CONFIG', `cannot listen on PORT=${port} at HOST=${host}: ${reason}`);
  }

  /** The addresses on which the workers listen, in the order in which they were claimed. */
  get addresses(): readonly AddressInfo[] {
    return this.ports.addresses;
  }

  /** Sends a message to the application on each worker. */
  broadcast(message: Serializable): void {
    for (const { worker } of this.members.values()) if (worker.isConnected()) worker.send(message, () => {});
  }

  /** The ids of the workers that listen. */
  get listening(): number[] {
    const serving = [...this.members.values()].filter(({ isListening, isHolder }) => isListening && !isHolder);
    return serving.map(({ worker }) => worker.id);
  }

  /** Whether all clients are being moved to other machines. */
  get isDraining(): boolean {
    return this.isLeaving || this.stopping;
  }

  /**
   * Asks workers. The answer of a worker that does not answer in time is undefined.
   * @param inputOf what each worker needs to know for its answer
   */
  ask(
    question: Question,
    workers: readonly number[] = this.listening,
    { inputOf, timeoutMs = ANSWER_TIMEOUT_MS }: { inputOf?: (worker: number) => unknown; timeoutMs?: number } = {},
  ): Promise<Map<number, unknown>> {
    return this.questions.ask(workers, timeoutMs, (worker, id) => {
      const member = this.members.get(worker);
      if (member) send(member.worker, { type: 'ask', id, question, input: inputOf?.(worker) });
    });
  }

  /**
   * Replaces all workers, one by one. A new worker listens before the old one stops accepting clients. Then the old
   * workers drain: their clients reconnect to new workers.
   */
  async reload(): Promise<void> {
    const { log, drainTimeout, reloadHold: hold } = this.options;
    if (this.stopping || this.isReloading)
      return log.warn('reload ignored: a reload or shutdown is already in progress');
    this.isReloading = true;
    this.isLeaving = false;
    log.info({ movesConnections: movesConnections() }, 'reload started');
    const old = [...this.members.values()].filter(({ isHolder }) => !isHolder);
    const retired: WorkerRecord[] = [];
    const retirements: Promise<void>[] = [];
    for (const member of old) {
      // The worker has died meanwhile and was replaced.
      if (!this.members.has(member.worker.id)) continue;
      member.isSpare = true;
      const isSucceeded = await this.forkSuccessor();
      if (this.stopping) return;
      if (!isSucceeded) {
        this.keep(member);
        break;
      }
      send(member.worker, { type: 'retire' });
      retired.push(member);
      if (member.isListening) retirements.push(this.reported(member, 'retired'));
    }
    // The clients of one old worker must not reconnect to another one.
    await Promise.all(retirements);
    if (this.stopping) return;
    const leaving = new Set(retired.map(({ worker }) => worker.id));
    const successors = this.listening.filter((id) => !leaving.has(id));
    // Sessions are handed over as they are drained.
    const isHanded = hold > 0 && drainTimeout > 0 && successors.length > 0;
    const handover = isHanded ? { successors, hold } : undefined;
    await Promise.all(retired.map((member) => this.stopMember(member, drainTimeout, handover)));
    this.releaseHolders();
    this.isReloading = false;
    log.info({ replaced: retired.length, workers: old.length }, 'reload finished');
  }

  /** Bounds the memory of workers that only hold WebSockets, when reloads follow each other quickly. */
  private releaseHolders(): void {
    const holders = [...this.members.values()].filter(({ isHolder }) => isHolder);
    const surplus = holders.slice(0, Math.max(0, holders.length - MAX_HELD_RELOADS * this.options.workers));
    for (const { worker } of surplus) send(worker, { type: 'release', over: this.options.drainTimeout });
  }

  /** Drains the machine: readiness fails, and clients are disconnected. Clients that return are still served. */
  leave(): void {
    if (this.stopping) return;
    this.isLeaving = true;
    this.options.log.info('draining all clients to other machines; a reload ends the drain');
    for (const member of this.members.values()) if (member.isListening) this.tellToLeave(member);
  }

  /** Drains and stops all workers. Resolves when they are gone. */
  async stop(): Promise<void> {
    this.stopping = true;
    // The next server may start while the clients of this one are still drained.
    this.ports.unlock();
    for (const timer of this.respawns) clearTimeout(timer);
    await Promise.all([...this.members.values()].map((member) => this.stopMember(member, this.options.drainTimeout)));
    this.watchdog.close();
    rmSync(this.meshDirectory, { recursive: true, force: true });
  }

  /** Turns the stop in progress into an immediate one. */
  stopNow(): void {
    for (const { worker } of this.members.values()) {
      send(worker, { type: 'stopNow' });
      setTimeout(() => worker.process.kill('SIGKILL'), STOP_NOW_TIMEOUT_MS).unref();
    }
  }

  /** Resolves when the worker is gone, or only holds WebSockets. */
  private stopMember(member: WorkerRecord, over: number, handover?: HandoverOrder): Promise<void> {
    const { worker, isListening } = member;
    return new Promise((resolve) => {
      if (worker.isDead()) return resolve();
      const timer = setTimeout(
        () => {
          this.options.log.warn({ worker: worker.id }, 'a worker did not stop in time and is killed');
          worker.process.kill('SIGKILL');
        },
        over + (handover?.hold ?? 0) + STOP_TIMEOUT_MS,
      );
      timer.unref();
      if (handover) void this.reported(member, 'holding').then(resolve);
      worker.once('exit', () => {
        clearTimeout(timer);
        resolve();
      });
      // A worker that is still starting has no clients, and may not read its messages yet.
      if (!isListening) return void worker.process.kill('SIGKILL');
      send(worker, { type: 'stop', over, handover });
      if (!handover) send(worker, { type: 'release', over });
    });
  }

  private fork(isSpare: boolean): WorkerRecord {
    const worker = cluster.fork(this.environment);
    const state = { isMeshed: false, isListening: false, isSpare, isHolder: false };
    const member = { worker, bornAt: Date.now(), ...state, awaited: new Map() };
    this.members.set(worker.id, member);
    this.watchdog.began(worker.id);
    return member;
  }

  /** Resolves once the new worker listens (true) or is gone (false). */
  private async forkSuccessor(): Promise<boolean> {
    const member = this.fork(true);
    await this.reported(member, 'listening');
    member.isSpare = false;
    return member.isListening;
  }

  /** Resolves when the worker reports this, or is gone. */
  private reported({ worker, awaited }: WorkerRecord, type: FromWorker['type']): Promise<void> {
    return new Promise((resolve) => {
      if (worker.isDead()) resolve();
      else awaited.set(type, resolve);
    });
  }

  /** Keeps a worker whose successor did not start. */
  private keep(member: WorkerRecord): void {
    this.options.log.error('reload aborted: a new worker did not start, so the remaining old workers stay');
    member.isSpare = false;
    if (member.worker.isDead()) this.respawn(member);
  }

  private onMessage({ id }: Worker, message: FromWorker): void {
    const member = this.members.get(id);
    if (!member) return;
    member.awaited.get(message.type)?.();
    switch (message.type) {
      case 'meshed': {
        const meshed = [...this.members.values()].filter(({ isMeshed }) => isMeshed);
        send(member.worker, { type: 'join', workers: meshed.map(({ worker }) => worker.id) });
        member.isMeshed = true;
        send(member.worker, { type: 'deaths', count: this.deathsInAll });
        return;
      }
      case 'alive':
        return this.watchdog.heard(id);
      case 'claim':
        return void this.ports.claim(message.address).then((claimed) => {
          send(member.worker, { type: 'claimed', id: message.id, ...claimed });
        });
      case 'answer':
        return this.questions.answered(id, message.id, message.answer);
      case 'holding':
        member.isHolder = true;
        return;
      case 'leave':
        return this.leave();
      case 'stuck':
        return this.onHung(message.worker, 'a worker does not read messages from other workers and is killed');
      case 'listening':
        member.isListening = true;
        if (this.isLeaving) this.tellToLeave(member);
        if (this.listening.length === this.options.workers) {
          this.started?.resolve();
          this.started = undefined;
        }
        return;
      case 'failed':
        if (this.started) return this.started.reject(new GjallarError('BAD_CONFIG', message.reason));
        // The other workers continue. This one is forked again, unless a reload started it.
        this.options.log.error({ worker: id, reason: message.reason }, 'a worker cannot run');
        member.worker.process.kill('SIGKILL');
    }
  }

  private tellToLeave({ worker }: WorkerRecord): void {
    send(worker, { type: 'leave', over: this.options.drainTimeout });
  }

  private onHung(id: number, why: string): void {
    const hung = this.members.get(id)?.worker.process;
    // Several workers may report the same one.
    if (!hung || hung.killed) return;
    this.options.log.error({ worker: id }, why);
    hung.kill('SIGKILL');
  }

  private onExit({ id }: Worker, code: number, signal: string): void {
    const member = this.members.get(id);
    this.members.delete(id);
    this.watchdog.forget(id);
    this.questions.gone(id);
    // A killed worker could not remove its socket.
    rmSync(socketOf(this.meshDirectory, id), { recursive: true, force: true });
    if (!member) return;
    for (const resolve of member.awaited.values()) resolve();
    if (this.started && this.options.file !== undefined && this.listening.length === 0) {
      const how = signal ? `was ended by ${signal}` : `ended with exit code ${code}`;
      return this.started.reject(
        new GjallarError('BAD_CONFIG', `the application ${how} before it listened; its output above says why`),
      );
    }
    if (!this.stopping && !member.isSpare) this.respawn(member, { code, signal });
  }

  private respawn({ worker, bornAt, isListening }: WorkerRecord, how: { code?: number; signal?: string } = {}): void {
    const age = Date.now() - bornAt;
    this.deaths = age < SHORT_LIFE_MS || !isListening ? this.deaths + 1 : 1;
    const delay = this.deaths === 1 ? 0 : Math.min(FIRST_DELAY_MS * 2 ** (this.deaths - 2), MAX_DELAY_MS);
    this.options.log.error({ worker: worker.id, ...how, delay }, 'a worker died and will be replaced');
    this.deathsInAll++;
    for (const member of this.members.values()) {
      send(member.worker, { type: 'deaths', count: this.deathsInAll });
    }
    const timer = setTimeout(() => {
      this.respawns.delete(timer);
      this.fork(false);
    }, delay);
    this.respawns.add(timer);
  }
}

/** @throws GjallarError BAD_CONFIG */
function makeMeshDirectory(): string {
  try {
    return mkdtempSync(join(tmpdir(), 'gjallar-'));
  } catch (error) {
    throw new GjallarError(
      'BAD_CONFIG',
      `cannot create a folder for the sockets of the workers: ${(error as Error).message}. Set TMPDIR to a writable folder.`,
    );
  }
}

function send(worker: Worker, message: FromPrimary): void {
  // A worker that has just died has no channel. Its `exit` event is handled separately.
  const envelope: Envelope<FromPrimary> = { gjallar: message };
  if (worker.isConnected()) worker.send(envelope, () => {});
}
