import type { Logger } from 'pino';
import { own } from '../../base/owner.js';
import { within } from '../../base/within.js';
import type { FromPrimary, Readiness } from '../protocol.js';
import { OTHER_BUILD } from '../wire-number.js';
import type { ForkedWorker } from './forked-worker.js';
import type { Primary } from './primary.js';

const STAYING = 'The old workers stay. Correct the new release, and reload again.';
/** Why a reload ends that another one follows at once. */
const OUTDATED = 'the release has changed';
const REJECTED = `reload rejected: ${OTHER_BUILD}`;

/** Runs one reload at a time. However often a reload is requested during another one, exactly one more follows. */
export class ReloadQueue {
  readonly counts = { finished: 0, aborted: 0, isLastAborted: false };
  private isRunning = false;
  private isRequested = false;
  private current: Reload | undefined;

  constructor(
    private readonly fleet: Primary,
    private readonly options: ReloadOptions,
    private readonly log: Logger,
  ) {}

  /** What workers report of the reloads. */
  get report(): FromPrimary {
    return { type: 'reloads', ...this.counts };
  }

  /** @param isOutdated whether a reload in progress starts what has changed meanwhile: it ends unless it has succeeded */
  request(isOutdated = false): void {
    const { fleet, log } = this;
    if (fleet.isStopping) return log.warn('reload ignored: a shutdown is already in progress');
    if (this.isRunning && !this.isRequested) log.info('a reload is already in progress: one more follows it');
    this.isRequested = true;
    if (!this.isRunning) own('reloading', this.runAll());
    else if (isOutdated) this.current?.end();
  }

  private async runAll(): Promise<void> {
    this.isRunning = true;
    try {
      while (this.isRequested && !this.fleet.isStopping) {
        this.isRequested = false;
        await this.run();
      }
    } finally {
      this.isRunning = false;
    }
  }

  private async run(): Promise<void> {
    const { fleet, log, counts } = this;
    const wasLeaving = fleet.isLeaving;
    fleet.isLeaving = false;
    log.info('reload started');
    const reload = new Reload(fleet, this.options, (reason) => {
      fleet.isLeaving ||= wasLeaving;
      if (reason === OUTDATED) return;
      log.error(
        { code: 'RELOAD_ABORTED', reason },
        reason === OTHER_BUILD ? REJECTED : `reload aborted: ${reason}. ${STAYING}`,
      );
      counts.aborted++;
      this.ended(true);
    });
    this.current = reload;
    const outcome = await reload.run();
    if (!outcome) return;
    log.info(outcome, 'reload finished');
    counts.finished++;
    this.ended(false);
  }

  private ended(isAborted: boolean): void {
    this.counts.isLastAborted = isAborted;
    this.fleet.tell(this.report);
  }
}

export interface ReloadOptions {
  /** How long a drain of the workers that are replaced may take, in ms. */
  drainTimeout: number;
  /** How long new workers must live before they replace old ones, in ms. */
  reloadSettle: number;
}

/** The workers of a primary, as a reload uses them. */
interface Fleet {
  /** The workers that run. */
  readonly serving: readonly ForkedWorker[];
  readonly isStopping: boolean;
  /** Forks a worker that replaces one that still runs. @throws Error if that is not possible now */
  forkSpare(old: ForkedWorker): ForkedWorker;
  /** Tells all workers which ones replace others. */
  replaced(by: readonly (readonly [old: number, successor: number])[]): void;
  /** Forks a worker again that has ended. */
  respawn(worker: ForkedWorker): void;
  /** The readiness of workers; undefined for those that do not answer in time. */
  readinessOf(workers: readonly ForkedWorker[]): Promise<ReadonlyMap<number, Readiness | undefined>>;
}

interface Outcome {
  /** How many workers were replaced, of those that ran. */
  replaced: number;
  workers: number;
}

/** An old worker, and the new one that replaces it. */
interface Pair {
  readonly old: ForkedWorker;
  readonly successor: ForkedWorker;
}

/** How long new workers may take to be ready, and to listen on all ports, after they have listened on one, in ms. */
const MAX_UNREADY_MS = 30_000;
/** How often it is checked whether new workers are ready, in ms. */
const READY_CHECK_MS = 200;

/**
 * Replaces all workers by new ones, or none of them. The new workers start one after the other, and must live for a time
 * beside the old ones, which serve clients until then. Then the old workers drain: their clients reconnect to new ones.
 */
class Reload {
  private readonly pairs: Pair[] = [];
  private readonly lost: Promise<void>;
  private onLost = () => {};
  private isOutdated = false;

  constructor(
    private readonly fleet: Fleet,
    private readonly options: ReloadOptions,
    /** Called with the reason as soon as the reload is aborted. */
    private readonly onAborted: (reason: string) => void,
  ) {
    this.lost = new Promise((resolve) => {
      this.onLost = resolve;
    });
  }

  /** Resolves with undefined if the reload was aborted, or the server stops. */
  async run(): Promise<Outcome | undefined> {
    const { fleet, pairs } = this;
    const old = fleet.serving;
    const failure = (await this.forkAll(old)) ?? (await this.settle());
    if (fleet.isStopping) return undefined;
    if (failure !== undefined) return this.abort(failure);
    for (const { successor } of pairs) successor.isSpare = false;
    await this.replace();
    return fleet.isStopping ? undefined : { replaced: pairs.length, workers: old.length };
  }

  /** Ends it, unless it already replaces workers. */
  end(): void {
    this.isOutdated = true;
    this.onLost();
  }

  private get successors(): ForkedWorker[] {
    return this.pairs.map(({ successor }) => successor);
  }

  /** Why the new workers cannot continue; undefined while all can. */
  private get failure(): string | undefined {
    if (this.isOutdated) return OUTDATED;
    const failed = this.successors.find(({ failure }) => failure !== undefined);
    if (failed?.isOtherBuild) return OTHER_BUILD;
    return failed && `new worker ${failed.id} ${failed.failure} ${ageOf(failed)}`;
  }

  /** Starts the new workers. Resolves with the reason if one of them does not listen. */
  private async forkAll(old: readonly ForkedWorker[]): Promise<string | undefined> {
    const { fleet, pairs } = this;
    for (const worker of old) {
      // The worker has died meanwhile and was replaced.
      if (worker.isDead) continue;
      let successor: ForkedWorker;
      try {
        successor = fleet.forkSpare(worker);
      } catch (error) {
        return `a new worker cannot be started: ${(error as Error).message}`;
      }
      worker.isSpare = true;
      pairs.push({ old: worker, successor });
      own('noting the death of a new worker', successor.gone.then(this.onLost));
      await Promise.race([successor.reported('listening'), this.lost]);
      if (fleet.isStopping || this.failure !== undefined) return this.failure;
      if (worker.isOnPort && !successor.isOnPort) {
        return `new worker ${successor.id} listens on no port, unlike worker ${worker.id}`;
      }
    }
    return undefined;
  }

  /** Waits until the new workers have lived long enough and are ready. Resolves with the reason if one is not. */
  private async settle(): Promise<string | undefined> {
    const { fleet, pairs, successors } = this;
    if (pairs.length === 0 || fleet.isStopping) return undefined;
    const since = Math.max(...successors.map(({ listeningSince }) => listeningSince));
    await this.wait(since + this.options.reloadSettle - performance.now());
    // A primary that was itself stopped may not know yet that a worker has ended. A dead or hung worker does not answer.
    for (;;) {
      const answers = await fleet.readinessOf([...pairs.map(({ old }) => old), ...successors]);
      if (fleet.isStopping || this.failure !== undefined) return this.failure;
      const unready = successors.find(({ id }) => !isReady(answers.get(id)));
      const alive = pairs.flatMap(({ old }) => (old.isDead ? [] : [old]));
      const offPort = offPortOf(alive, successors);
      // What is down for all old workers as well is no reason to keep them.
      const doAllAnswer = [...alive, ...successors].every(({ id }) => answers.get(id));
      const isUsable = !unready || (doAllAnswer && !alive.some(({ id }) => isReady(answers.get(id))));
      if (isUsable && !offPort) return undefined;
      if (performance.now() - since > this.options.reloadSettle + MAX_UNREADY_MS) {
        if (offPort || !unready) return offPort;
        const { problems = [] } = answers.get(unready.id) ?? {};
        const what = answers.get(unready.id) ? 'is not ready' : 'does not respond';
        return `new worker ${unready.id} ${what} ${ageOf(unready)}${problems.map(({ text }) => `; ${text}`).join('')}`;
      }
      await this.wait(READY_CHECK_MS);
    }
  }

  /** Waits for a number of ms, or until a new worker ends. */
  private async wait(ms: number): Promise<void> {
    if (ms > 0) await within(ms, this.lost);
  }

  /** Keeps the old workers, and ends the new ones. A new worker stays where the old one has died meanwhile. */
  private async abort(reason: string): Promise<undefined> {
    const { fleet, options } = this;
    this.onAborted(reason);
    const ends: Promise<void>[] = [];
    for (const { old, successor } of this.pairs) {
      old.isSpare = false;
      if (old.isDead && successor.failure === undefined && !successor.isDead) {
        successor.isSpare = false;
      } else {
        if (old.isDead) fleet.respawn(old);
        // Clients that are connected to it learn that they are to reconnect.
        successor.send({ type: 'retire' });
        ends.push(successor.stop(options.drainTimeout));
      }
    }
    await Promise.all(ends);
  }

  private async replace(): Promise<void> {
    const { fleet, pairs } = this;
    const old = pairs.map((pair) => pair.old);
    // The clients of one old worker must not reconnect to another one.
    await Promise.all(
      old.map((worker) => {
        worker.send({ type: 'retire' });
        return worker.isListening && worker.reported('retired');
      }),
    );
    if (fleet.isStopping) return;
    fleet.replaced(pairs.map((pair) => [pair.old.id, pair.successor.id]));
    await Promise.all(pairs.map((pair) => pair.old.stop(this.options.drainTimeout, pair.successor.id)));
  }
}

/** The first new worker without a port that all old ones have. It may have listened on another one first. */
function offPortOf(old: readonly ForkedWorker[], successors: readonly ForkedWorker[]): string | undefined {
  const shared = [...(old[0]?.sharedPorts ?? [])].filter((port) => old.every((one) => one.sharedPorts.has(port)));
  for (const { id, sharedPorts, otherPorts } of successors) {
    const missing = shared.find((port) => !sharedPorts.has(port) && !otherPorts.has(port));
    if (missing !== undefined) return `new worker ${id} does not listen on port ${missing}, unlike the old workers`;
  }
  return undefined;
}

function isReady(answer: Readiness | undefined): boolean {
  return answer !== undefined && answer.state !== 'not ready';
}

function ageOf({ isListening, listeningSince, age }: ForkedWorker): string {
  if (!isListening) return `${Math.round(age)} ms after its start, before it listened`;
  return `${Math.round(performance.now() - listeningSince)} ms after it had listened`;
}
