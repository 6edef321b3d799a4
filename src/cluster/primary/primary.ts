import type { Serializable } from 'node:child_process';
import cluster, { type Worker } from 'node:cluster';
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import { timeOrigin } from '../../base/clock.js';
import { GjallarError } from '../../base/errors.js';
import { own } from '../../base/owner.js';
import { makeSocketFolder } from '../../base/socket-folders.js';
import { HubThread } from '../hub/hub-thread.js';
import type { HubAddress } from '../hub/open.js';
import { HUB } from '../mesh/mesh.js';
import {
  type FromPrimary,
  type FromWorker,
  MACHINE_ID,
  MESH_DIRECTORY,
  opened,
  type QuestionKind,
  Questions,
  type Readiness,
  socketKinds,
  socketOf,
  TIME_ORIGIN,
} from '../protocol.js';
import { OTHER_BUILD, OTHER_WIRE, WIRE_NUMBER, wire } from '../wire-number.js';
import { ForkedWorker, STOP_TIMEOUT_MS, Watchdog } from './forked-worker.js';
import { SharedPorts } from './ports.js';
import { type ReloadOptions, ReloadQueue } from './reload.js';

export interface PrimaryOptions extends ReloadOptions {
  workers: number;
  /** How long the start of a worker may keep its event loop busy, in ms. */
  startTimeout: number;
  /** The file that the workers run. By default, it is the file of the primary. */
  file?: string | undefined;
  /** The arguments of the workers. By default, they are those of the primary. */
  arguments?: readonly string[] | undefined;
  /** Node.js flags of the workers; the primary's own flags follow them. */
  nodeFlags: readonly string[];
  log: Logger;
  /** Reads the metrics of the machine, in the text format of Prometheus. */
  metrics: () => Promise<string>;
  /** Called with the last figures of a worker that ends in order. */
  onEnding: (worker: number, figures: unknown) => void;
  /** Called with the messages that the application on a worker sends to its parent process. */
  onMessage?: ((message: unknown) => void) | undefined;
}

/** A worker that lived shorter than this, in ms, delays its replacement. */
const SHORT_LIFE_MS = 10_000;
const FIRST_DELAY_MS = 100;
const MAX_DELAY_MS = 10_000;

const NOT_FORKED = 'a worker that died cannot be replaced yet, and will be';
const UNREAD = 'does not read messages from other workers and is killed';

/** How long workers may take to answer a question, in ms. */
const ANSWER_TIMEOUT_MS = 2000;

/** Forks the workers, replaces workers that die, reloads them, and stops them. */
export class Primary {
  private readonly meshDirectory = makeMeshDirectory();
  private readonly environment = {
    [MESH_DIRECTORY]: this.meshDirectory,
    [MACHINE_ID]: randomBytes(6).toString('base64url'),
    [WIRE_NUMBER]: String(wire.number),
    [TIME_ORIGIN]: String(timeOrigin),
  };
  private readonly members = new Map<number, ForkedWorker>();
  private hub: HubThread | undefined;
  private readonly respawns = new Set<NodeJS.Timeout>();
  private readonly watchdog: Watchdog;
  private readonly ports = new SharedPorts();
  private readonly questions = new Questions();
  /** The workers that have the sessions of those that were replaced. */
  private readonly successors = new Map<number, number>();
  private deaths = 0;
  readonly reloads: ReloadQueue;
  isLeaving = false;
  /** The number of workers that have died since the start. */
  deathsInAll = 0;
  private stopping = false;
  /** During the start: the workers that have not listened. One that ends keeps its place until it is forked again. */
  private readonly starting = new Set<number>();
  private started = () => {};
  private failStart = (_reason: string): void => {};

  constructor(private readonly options: PrimaryOptions) {
    this.watchdog = new Watchdog(
      // The hub runs no code of an application that may keep it busy.
      { startTimeout: options.startTimeout, cpuOf: (id) => (id === HUB ? 0 : this.members.get(id)?.cpuTicks) },
      (id, failure) => (id === HUB ? this.hub?.end() : this.onHung(id, failure)),
      (id, isSilent) => id === HUB && this.tell({ type: 'hub', isSilent }),
    );
    this.reloads = new ReloadQueue(this, options, options.log);
  }

  /**
   * Resolves when each worker has listened once.
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
    cluster.on('listening', ({ id }, { address, port }) => {
      this.ports.note(address, port);
      this.members.get(id)?.otherPorts.add(port);
    });
    cluster.on('exit', (worker, code, signal) => this.onExit(worker, code, signal));
    return new Promise((resolve, reject) => {
      this.started = resolve;
      this.failStart = (reason) => reject(new GjallarError('BAD_CONFIG', reason));
      for (let count = 0; count < workers; count++) this.starting.add(this.fork(false).id);
    });
  }

  /**
   * Finds out whether the workers can listen on an address, before they start. A port for `port` 0 is picked only when they
   * listen: until then, any outgoing connection could take it.
   * @throws GjallarError BAD_CONFIG
   */
  async reserve(host: string, port: number): Promise<void> {
    const ports = port === 0 ? new SharedPorts() : this.ports;
    const { failure } = await ports.claim({ host, port, turn: 0 });
    if (!failure) return;
    const isTaken = failure.code === 'EADDRINUSE';
    const reason = isTaken ? 'another server uses this port; stop it, or set another PORT' : failure.message;
    throw new GjallarError('BAD_CONFIG', `cannot listen on PORT=${port} at HOST=${host}: ${reason}`);
  }

  /**
   * Starts the hub of this machine. Call this before the workers start. Resolves when workers can link with it.
   * @param file the file of the thread
   */
  async startHub(file: URL, address: HubAddress | undefined): Promise<void> {
    this.hub = new HubThread(file, {
      ...{ directory: this.meshDirectory, machine: this.environment[MACHINE_ID], address, log: this.options.log },
      watchdog: this.watchdog,
      meshed: () => this.meshed,
      onStuck: (worker) => this.onHung(worker, UNREAD),
    });
    await this.hub.start();
  }

  /** The addresses on which the workers listen, in the order in which they were claimed. */
  get addresses(): readonly AddressInfo[] {
    return this.ports.addresses;
  }

  /** Sends a message to the application on each worker. */
  broadcast(message: Serializable): void {
    for (const member of this.members.values()) member.pass(message);
  }

  /** The ids of the workers that listen. */
  get listening(): number[] {
    return this.serving.filter(({ isListening }) => isListening).map(({ id }) => id);
  }

  /** The ids of the workers that can answer, and do not listen yet. */
  get joining(): number[] {
    return this.serving.filter(({ isMeshed, isListening }) => isMeshed && !isListening).map(({ id }) => id);
  }

  /** Whether workers have still to listen for the first time. */
  get isStarting(): boolean {
    return this.starting.size > 0;
  }

  /** Whether clients can reach a worker; true until the first one has started. A worker may listen after it has started. */
  get isOnPort(): boolean {
    const started = this.serving.filter(({ isListening }) => isListening);
    // The ports of workers that have ended say nothing of those that run.
    return started.length === 0 || started.some(({ isOnPort, ports }) => isOnPort || ports > 0);
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
    question: QuestionKind,
    workers: readonly number[] = this.listening,
    { inputOf, timeoutMs = ANSWER_TIMEOUT_MS }: { inputOf?: (worker: number) => unknown; timeoutMs?: number } = {},
  ): Promise<Map<number, unknown>> {
    return this.questions.ask(workers, timeoutMs, (worker, id) => {
      this.members.get(worker)?.send({ type: 'ask', id, question, input: inputOf?.(worker) });
    });
  }

  /**
   * Replaces all workers, once new ones have lived for a time. During a reload, one more follows it.
   * @param isOutdated whether a reload in progress is to end at once, because it starts what has changed meanwhile
   */
  reload(isOutdated = false): void {
    this.reloads.request(isOutdated);
  }

  /** The workers that run. */
  get serving(): ForkedWorker[] {
    return [...this.members.values()];
  }

  get isStopping(): boolean {
    return this.stopping;
  }

  tell(message: FromPrimary): void {
    for (const member of this.members.values()) member.send(message);
  }

  forkSpare(): ForkedWorker {
    return this.fork(true);
  }

  replaced(by: readonly (readonly [old: number, successor: number])[]): void {
    for (const [old, successor] of by) {
      for (const [before, known] of this.successors) if (known === old) this.successors.set(before, successor);
      this.successors.set(old, successor);
    }
    this.tell({ type: 'successors', of: [...this.successors] });
  }

  readinessOf(workers: readonly ForkedWorker[]): Promise<Map<number, Readiness | undefined>> {
    const ids = workers.filter(({ isDead }) => !isDead).map(({ id }) => id);
    return this.ask('health', ids) as Promise<Map<number, Readiness | undefined>>;
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
    const { drainTimeout } = this.options;
    const end = performance.now() + drainTimeout + STOP_TIMEOUT_MS;
    for (const timer of this.respawns) clearTimeout(timer);
    await Promise.all([...this.members.values()].map((member) => member.stop(drainTimeout)));
    this.watchdog.close();
    await this.hub?.close(end - performance.now());
    rmSync(this.meshDirectory, { recursive: true, force: true });
  }

  /** Turns the stop in progress into an immediate one. */
  stopNow(): void {
    for (const member of this.members.values()) member.stopNow();
  }

  private async claim(member: ForkedWorker, { id, address }: Extract<FromWorker, { type: 'claim' }>): Promise<void> {
    const claimed = await this.ports.claim(address);
    if (address.taken !== undefined) member.sharedPorts.delete(address.taken);
    if (claimed.local) member.sharedPorts.add(claimed.local.port);
    member.send({ type: 'claimed', id, ...claimed });
  }

  private async scrape(member: ForkedWorker, id: number): Promise<void> {
    let text: string | undefined;
    try {
      text = await this.options.metrics();
    } finally {
      member.send({ type: 'scraped', id, text });
    }
  }

  private fork(isSpare: boolean): ForkedWorker {
    const member = new ForkedWorker(this.environment, isSpare, this.options.log);
    this.members.set(member.id, member);
    this.watchdog.began(member.id);
    return member;
  }

  private onMessage({ id }: Worker, message: FromWorker): void {
    const member = this.members.get(id);
    if (!member) return;
    member.heard(message);
    switch (message.type) {
      case 'meshed': {
        member.send({ type: 'join', workers: this.hub?.isReady ? [HUB, ...this.meshed] : this.meshed });
        member.isMeshed = true;
        member.send(this.reloads.report);
        member.send({ type: 'successors', of: [...this.successors] });
        return;
      }
      case 'alive':
        return this.watchdog.heard(id);
      case 'claim':
        return own('claiming a port for a worker', this.claim(member, message));
      case 'scrape':
        return own('reading the metrics for a worker', this.scrape(member, message.id));
      case 'answer':
        return this.questions.answered(id, message.id, message.answer);
      case 'leave':
        return this.leave();
      case 'ending':
        return this.options.onEnding(id, message.figures);
      case 'stuck':
        return message.worker === HUB ? this.hub?.end() : this.onHung(message.worker, UNREAD);
      case 'listening':
        this.watchdog.started(id);
        if (this.isLeaving) this.tellToLeave(member);
        this.starting.delete(id);
        // A reload replaces workers that have not listened.
        if (this.listening.length >= this.options.workers) this.starting.clear();
        if (!this.isStarting) this.started();
        return;
      case 'failed':
        if (this.starting.has(id)) return this.failStart(message.reason);
        // The other workers continue. This one is forked again, unless a reload started it.
        this.options.log.error({ worker: id, reason: message.reason }, 'a worker cannot run');
        member.kill(`cannot run: ${message.reason}`);
    }
  }

  /** The workers that accept links. */
  private get meshed(): number[] {
    return this.serving.filter(({ isMeshed }) => isMeshed).map(({ id }) => id);
  }

  private tellToLeave(member: ForkedWorker): void {
    member.send({ type: 'leave', over: this.options.drainTimeout });
  }

  private onHung(id: number, failure: string): void {
    if (this.members.get(id)?.kill(failure))
      this.options.log.error({ code: 'WORKER_SILENT', worker: id }, `a worker ${failure}`);
  }

  private onExit({ id }: Worker, code: number, signal: string): void {
    const member = this.members.get(id);
    this.members.delete(id);
    this.watchdog.forget(id);
    this.questions.gone(id);
    for (const [before, successor] of this.successors) if (successor === id) this.successors.delete(before);
    // A killed worker could not remove its sockets.
    for (const kind of socketKinds) rmSync(socketOf(this.meshDirectory, id, kind), { recursive: true, force: true });
    if (!member) return;
    member.ended(code, signal);
    if (this.stopping || member.isStopping) return;
    if (this.starting.has(id)) {
      if (member.isOtherBuild) return this.failStart(OTHER_BUILD);
      if (this.options.file !== undefined) {
        const how = signal ? `was ended by ${signal}` : `ended with exit code ${code}`;
        return this.failStart(`the application ${how} before it listened; its output above says why`);
      }
    }
    this.deathsInAll++;
    if (!member.isSpare) this.respawn(member, { code, signal });
    else this.options.log.error({ worker: id, exitCode: code, signal }, 'a worker died during a reload');
  }

  respawn({ id, age, isListening }: ForkedWorker, how: { code?: number; signal?: string } = {}): void {
    this.deaths = age < SHORT_LIFE_MS || !isListening ? this.deaths + 1 : 1;
    const delay = delayAfter(this.deaths);
    const text =
      how.code === OTHER_WIRE ? `a worker cannot be replaced: ${OTHER_BUILD}` : 'a worker died and will be replaced';
    const { code: exitCode, signal } = how;
    this.options.log.error({ code: 'WORKERS_MISSING', worker: id, exitCode, signal, delay }, text);
    this.forkIn(delay, id);
  }

  /** Forks a worker in the place of one that has ended. */
  private forkIn(delay: number, id: number): void {
    const timer = setTimeout(() => {
      this.respawns.delete(timer);
      try {
        const { id: next } = this.fork(false);
        if (this.starting.delete(id)) this.starting.add(next);
      } catch (error) {
        // What the system lacks may be there again later. The other workers continue.
        const later = delayAfter(++this.deaths);
        this.options.log.error({ code: 'WORKERS_MISSING', worker: id, delay: later, error }, NOT_FORKED);
        this.forkIn(later, id);
      }
    }, delay);
    this.respawns.add(timer);
  }
}

/** How long the fork of a worker waits after so many deaths in a row, in ms. */
function delayAfter(deaths: number): number {
  return deaths === 1 ? 0 : Math.min(FIRST_DELAY_MS * 2 ** (deaths - 2), MAX_DELAY_MS);
}

/** The longest path of a socket, in bytes: Linux takes 107, and macOS 103. Node.js cuts a longer one, and says nothing. */
const MAX_SOCKET_PATH = 103;
/** A worker has a new number after each restart. */
const LARGEST_NUMBER = 999_999;

/**
 * Creates the folder with the sockets of the workers.
 * @throws GjallarError BAD_CONFIG
 */
function makeMeshDirectory(): string {
  let directory: string;
  try {
    directory = makeSocketFolder();
  } catch (error) {
    throw new GjallarError(
      'BAD_CONFIG',
      `cannot create a folder for the sockets of the workers: ${(error as Error).message}. Set TMPDIR to a writable folder.`,
    );
  }
  const excess = Buffer.byteLength(socketOf(directory, LARGEST_NUMBER)) - MAX_SOCKET_PATH;
  if (excess <= 0) return directory;
  rmSync(directory, { recursive: true });
  throw new GjallarError(
    'BAD_CONFIG',
    `the folder of TMPDIR is too long by ${excess} characters for the sockets of the workers. Set TMPDIR to a shorter one.`,
  );
}
