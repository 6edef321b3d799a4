import cluster, { type Worker } from 'node:cluster';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { GjallarError } from '../../errors.js';
import { type FromPrimary, type FromWorker, MESH_DIRECTORY, socketOf } from '../protocol.js';
import { findPort, movesConnections } from './port.js';
import { Watchdog } from './watchdog.js';

export interface PrimaryOptions {
  workers: number;
  host: string;
  /** 0 takes a free port. */
  port: number;
  /** Flags of Node.js that the workers start with, before those of the primary itself. */
  nodeFlags: readonly string[];
  /** How long clients may take to go elsewhere when workers stop or are replaced, in ms. */
  drainTimeout: number;
  log: Logger;
}

/** A worker that lived shorter than this, in ms, counts as one that keeps dying. */
const SHORT_LIFE_MS = 10_000;
const FIRST_DELAY_MS = 100;
const MAX_DELAY_MS = 10_000;
/** How long a worker has to stop once its clients are gone before it is killed, in ms. */
const STOP_TIMEOUT_MS = 10_000;
/** The same where somebody has no time. */
const STOP_NOW_TIMEOUT_MS = 3000;

/** A worker, as the primary sees it. */
interface WorkerRecord {
  readonly worker: Worker;
  readonly bornAt: number;
  isMeshed: boolean;
  isListening: boolean;
  /** Another worker takes its place, or it takes the place of one that is still there: its end is no loss. */
  isSpare: boolean;
  /** Calls back once it listens, or is gone. */
  onStarted: (() => void) | undefined;
}

/** Forks the workers, replaces those that die, renews them, and stops all of them. */
export class Primary {
  private readonly meshDirectory = mkdtempSync(join(tmpdir(), 'gjallar-'));
  private readonly members = new Map<number, WorkerRecord>();
  private readonly respawns = new Set<NodeJS.Timeout>();
  private readonly watchdog: Watchdog;
  private port = 0;
  private deaths = 0;
  private isLeaving = false;
  private isReloading = false;
  private deathsInAll = 0;
  private stopping = false;
  private started: { resolve: (port: number) => void; reject: (error: Error) => void } | undefined;

  constructor(private readonly options: PrimaryOptions) {
    this.watchdog = new Watchdog(options.workers, (id) =>
      this.onHung(id, 'a worker gives no sign of life and is killed'),
    );
  }

  /** Resolves with the port when all workers listen for the first time. */
  async start(): Promise<number> {
    this.port = await findPort(this.options.host, this.options.port);
    cluster.setupPrimary({ execArgv: [...this.options.nodeFlags, ...process.execArgv] });
    cluster.on('message', (worker, message: FromWorker) => this.onMessage(worker, message));
    cluster.on('exit', (worker, code, signal) => this.onExit(worker, code, signal));
    return new Promise((resolve, reject) => {
      this.started = { resolve, reject };
      for (let i = 0; i < this.options.workers; i++) this.fork(false);
    });
  }

  /**
   * Replaces all workers, one by one: a new one listens before an old one takes no more clients. Then the clients of
   * the old ones are sent away, which brings each of them to a new one.
   */
  async reload(): Promise<void> {
    const { log, drainTimeout } = this.options;
    if (this.stopping || this.isReloading) return log.warn('a reload or a stop is under way: there is no other reload');
    this.isReloading = true;
    this.isLeaving = false;
    log.info({ movesConnections: movesConnections() }, 'the reload begins');
    const old = [...this.members.values()];
    const retired: WorkerRecord[] = [];
    for (const member of old) {
      // It has died meanwhile, and was replaced then.
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
    }
    await Promise.all(retired.map((member) => this.stopMember(member, drainTimeout)));
    this.isReloading = false;
    log.info({ replaced: retired.length, workers: old.length }, 'the reload is over');
  }

  /** Says that clients should go to other machines, and sends them there. They are served until the stop. */
  leave(): void {
    if (this.stopping) return;
    this.isLeaving = true;
    this.options.log.info('the clients are sent away; a reload takes them in again');
    for (const member of this.members.values()) if (member.isListening) this.tellToLeave(member);
  }

  /** Sends the clients away and stops all workers. Resolves when they are gone. */
  async stop(): Promise<void> {
    this.stopping = true;
    for (const timer of this.respawns) clearTimeout(timer);
    await Promise.all([...this.members.values()].map((member) => this.stopMember(member, this.options.drainTimeout)));
    this.watchdog.close();
    rmSync(this.meshDirectory, { recursive: true, force: true });
  }

  /** Makes the stop that is under way an immediate one. */
  stopNow(): void {
    for (const { worker } of this.members.values()) {
      send(worker, { type: 'stopNow' });
      setTimeout(() => worker.process.kill('SIGKILL'), STOP_NOW_TIMEOUT_MS).unref();
    }
  }

  private stopMember({ worker, isListening }: WorkerRecord, over: number): Promise<void> {
    return new Promise((resolve) => {
      if (worker.isDead()) return resolve();
      const timer = setTimeout(() => {
        this.options.log.warn({ worker: worker.id }, 'a worker did not stop in time and is killed');
        worker.process.kill('SIGKILL');
      }, over + STOP_TIMEOUT_MS);
      worker.once('exit', () => {
        clearTimeout(timer);
        resolve();
      });
      if (isListening) send(worker, { type: 'stop', over });
      // One that is only starting has no clients, and may not hear yet.
      else worker.process.kill('SIGKILL');
    });
  }

  private fork(isSpare: boolean): WorkerRecord {
    const worker = cluster.fork({ [MESH_DIRECTORY]: this.meshDirectory });
    const member = { worker, bornAt: Date.now(), isMeshed: false, isListening: false, isSpare, onStarted: undefined };
    this.members.set(worker.id, member);
    this.watchdog.began(worker.id);
    return member;
  }

  /** Resolves with whether it listens. */
  private async forkSuccessor(): Promise<boolean> {
    const member = this.fork(true);
    await new Promise<void>((resolve) => {
      member.onStarted = resolve;
    });
    member.isSpare = false;
    return member.isListening;
  }

  /** There is no successor, so it stays. */
  private keep(member: WorkerRecord): void {
    this.options.log.error('a new worker did not start: those that are not replaced stay');
    member.isSpare = false;
    if (member.worker.isDead()) this.respawn(member);
  }

  private onMessage({ id }: Worker, message: FromWorker): void {
    const member = this.members.get(id);
    if (!member) return;
    switch (message.type) {
      case 'meshed': {
        const meshed = [...this.members.values()].filter(({ isMeshed }) => isMeshed);
        send(member.worker, { type: 'join', workers: meshed.map(({ worker }) => worker.id) });
        member.isMeshed = true;
        send(member.worker, { type: 'listen', port: this.port });
        send(member.worker, { type: 'deaths', count: this.deathsInAll });
        return;
      }
      case 'alive':
        return this.watchdog.heard(id);
      case 'leave':
        return this.leave();
      case 'stuck':
        return this.onHung(message.worker, 'a worker does not read what the others send it and is killed');
      case 'listening':
        member.isListening = true;
        member.onStarted?.();
        if (this.isLeaving) this.tellToLeave(member);
        if ([...this.members.values()].filter(({ isListening }) => isListening).length === this.options.workers) {
          this.started?.resolve(this.port);
          this.started = undefined;
        }
        return;
      case 'failed':
        if (this.started) return this.started.reject(new GjallarError('BAD_CONFIG', message.reason));
        // The others go on; this one is tried again, or done without.
        this.options.log.error({ worker: id, reason: message.reason }, 'a worker cannot run');
        member.worker.process.kill('SIGKILL');
    }
  }

  private tellToLeave({ worker }: WorkerRecord): void {
    send(worker, { type: 'leave', over: this.options.drainTimeout });
  }

  private onHung(id: number, why: string): void {
    const hung = this.members.get(id)?.worker.process;
    // Several may say so of one.
    if (!hung || hung.killed) return;
    this.options.log.error({ worker: id }, why);
    hung.kill('SIGKILL');
  }

  private onExit({ id }: Worker, code: number, signal: string): void {
    const member = this.members.get(id);
    this.members.delete(id);
    this.watchdog.forget(id);
    // One that was killed could not do it.
    rmSync(socketOf(this.meshDirectory, id), { recursive: true, force: true });
    if (!member) return;
    member.onStarted?.();
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

function send(worker: Worker, message: FromPrimary): void {
  // A worker that has just died has no channel any more; its exit is dealt with by itself.
  if (worker.isConnected()) worker.send(message, () => {});
}
