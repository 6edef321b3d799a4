import { randomBytes } from 'node:crypto';
import type { Namespace } from 'socket.io';
import type { Adapter } from 'socket.io-adapter';
import { MalformedMessage } from '../../base/errors.js';
import { own, owned } from '../../base/owner.js';
import { thisProcess } from '../../base/process.js';
import { within } from '../../base/within.js';
import type { WorkerLinks } from '../../base/worker-links.js';
import { canonicalAddress } from '../../engine/limits/address-limits.js';
import type { AdapterFactory } from '../../io/rooms/index.js';
import { wantsRecovery } from '../../io/socket-io.private.js';
import type { ExpiryListener } from './kept/expiries.js';
import type { Naming, RemovalTarget } from './kept/memory.js';
import { type KeptSession, SessionMemory } from './kept/sessions.js';
import { PacketMemory } from './kept/stream.js';
import { decodeMessage, encodeMessage, type LoanQuestion, type RecoveryMessage } from './messages.js';
import { NamespaceRecovery, type RecoveryBounds, type RecoveryHost } from './namespace-recovery.js';
import { bounded, noOutcomes, type RecoveryOutcome, type RecoveryState } from './offset.js';
import { Gate } from './returns/missed.js';

export interface RecoveryOptions extends Partial<RecoveryBounds> {
  /** The links to the other workers of this machine, of a kind of their own; undefined if there are none. */
  links?: WorkerLinks | undefined;
  /** Whether the backplane connects several machines. Messages to all workers then go through it. */
  spansMachines?: boolean;
  /** How late messages of other machines may arrive, and how far clocks differ; by default, 2000 ms with several machines. */
  slackMs?: number;
  /** Resolves when the subscriptions of the backplane are confirmed; by default, at once. */
  subscribed?: () => Promise<void>;
  /** Resolves when what was sent before the call has arrived from other machines; by default, nothing comes from others. */
  caughtUp?: () => Promise<unknown>;
  /** How often expired packets and sessions are dropped, in ms; by default, 5000. */
  sweepMs?: number;
  /** Called when a bound that protects the worker gives a client a new session. */
  onBound?: (outcome: RecoveryOutcome) => void;
  /** The user of a socket with this data, by which the operator may end its session. */
  userOf?: (data: unknown) => string | undefined;
}

const defaults: RecoveryBounds = {
  maxBytes: 32 * 1024 * 1024,
  maxSessions: 100_000,
  maxRooms: 2000,
  maxMissed: 10_000,
  maxMissedBytes: 4 * 1024 * 1024,
  maxReplayed: 200_000,
  maxReplayedBytes: 64 * 1024 * 1024,
  maxRecovering: 10_000,
};
const SWEEP_INTERVAL_MS = 5000;
const MACHINES_SLACK_MS = 2000;
/** How long a worker waits for what is on its way to it, in ms. */
const MAX_LAG_MS = 1500;
/** The event in which recovery's messages pass a backplane between machines. */
const EVENT = 'gjallar:recovery';
/** The event in which a worker asks the workers of all machines. Those of older versions do not answer. */
const QUESTION = 'gjallar:recovery-question';

/** The recovery of connections on a worker. */
export interface Recovery {
  /**
   * Adds recovery to the adapters of a backplane, for servers with the option `connectionStateRecovery`. Others get the
   * adapter as it is. Put `withNativeRooms()` around it.
   */
  wrap(factory: AdapterFactory): AdapterFactory;
  /** Call it when the backplane is up again: messages may be lost, so that sessions of before are not recovered. */
  lost(): void;
  /**
   * Removes what is kept of clients that the operator disconnects, or takes out of a room. They return with a new
   * session.
   * @returns the ids of the sockets that were disconnected
   */
  remove(target: RemovalTarget): string[];
  /** What it keeps, and how it has ended; undefined while no server uses recovery. */
  readonly state: RecoveryState | undefined;
  close(): void;
}

/**
 * Socket.IO's connection state recovery across workers, in their memory.
 *
 * - Every worker keeps the recent broadcasts of all workers. A packet to one socket stays on its worker, with the
 *   session.
 * - A client that is disconnected may return to any worker: its session is sent to all of them. Its offset says what it
 *   has received of each worker, so that every worker can tell what it lacks.
 * - One other worker of the machine, the buddy, has a copy of each connected session. It publishes the sessions of a
 *   worker that was killed. Workers also give each other the last broadcasts of that worker.
 * - A worker that starts gets all of this from the oldest worker of its machine.
 * - If a bound or an outage has cut something that the client may lack, it is not recovered, and gets a new session.
 */
export function openRecovery(options: RecoveryOptions = {}): Recovery {
  return new WorkerRecovery(options);
}

const installed = new WeakMap<Adapter, NamespaceRecovery>();

/**
 * Listens to the sessions of a namespace that expire.
 * @returns what ends it; undefined if the adapter has no recovery of gjallar
 */
export function listenToExpiries(adapter: Adapter, listener: ExpiryListener): (() => void) | undefined {
  const namespace = installed.get(adapter);
  return namespace?.expiries.listen(listener, namespace.sessions.all());
}

class WorkerRecovery implements Recovery, RecoveryHost {
  readonly name: string;
  readonly bounds: RecoveryBounds;
  readonly gate: Gate;
  readonly memory: PacketMemory;
  readonly sessionMemory: SessionMemory<KeptSession>;
  readonly spansMachines: boolean;
  readonly slackMs: number;
  readonly outcomes = noOutcomes();
  readonly naming: Naming;
  private readonly links: WorkerLinks | undefined;
  private readonly namespaces = new Map<string, NamespaceRecovery>();
  /** Runs while there are namespaces, so that it does not hold a server that is gone. */
  private timer: NodeJS.Timeout | undefined;
  private readonly onSweep = owned('dropping expired packets and sessions', () => this.sweep());

  constructor(private readonly options: RecoveryOptions) {
    const { links, spansMachines = false, slackMs = spansMachines ? MACHINES_SLACK_MS : 0 } = options;
    this.links = links;
    this.spansMachines = spansMachines;
    this.slackMs = slackMs;
    this.bounds = { ...defaults, ...options };
    this.gate = new Gate(this.bounds);
    this.memory = new PacketMemory(this.bounds.maxBytes);
    this.sessionMemory = new SessionMemory<KeptSession>(this.bounds.maxBytes);
    this.naming = { userOf: (data) => options.userOf?.(data ?? {}), canonical: canonicalAddress };
    this.name = (!spansMachines && this.nameOf(links?.id ?? 0)) || randomBytes(4).toString('base64url');
    links?.onMessage((from, payload) => this.receive(from, payload));
    links?.onLeave((id) => {
      for (const namespace of this.namespaces.values()) namespace.workerGone(id);
    });
  }

  wrap(factory: AdapterFactory): AdapterFactory {
    return (nsp) => {
      const adapter = factory(nsp);
      if (wantsRecovery(nsp)) this.installLater(adapter, nsp);
      return adapter;
    };
  }

  /** socket.io calls `init()` when the adapter is complete, so that recovery is around the native rooms. */
  private installLater(adapter: Adapter, nsp: Namespace): void {
    const { init, close } = adapter;
    // The server asks at the start whether the adapter can recover.
    adapter.restoreSession = () => null as never;
    let namespace: NamespaceRecovery | undefined;
    adapter.init = () => {
      namespace = new NamespaceRecovery(adapter, nsp, this);
      this.namespaces.set(nsp.name, namespace);
      this.timer ??= setInterval(this.onSweep, this.options.sweepMs ?? SWEEP_INTERVAL_MS).unref();
      installed.set(adapter, namespace);
      if (this.spansMachines) this.listen(nsp, namespace);
      return init.call(adapter);
    };
    adapter.close = async () => {
      await namespace?.leave();
      await close.call(adapter);
      namespace?.close();
      // A client may have made a namespace of the same name meanwhile.
      if (this.namespaces.get(nsp.name) === namespace) this.namespaces.delete(nsp.name);
      if (this.namespaces.size === 0) this.endSweeps();
    };
  }

  private listen(nsp: Namespace, { loans }: NamespaceRecovery): void {
    nsp.on(EVENT as never, ((text: unknown) => this.receiveText(nsp.name, text)) as never);
    const onQuestion = async (question: unknown, answer: unknown) => {
      if (typeof answer === 'function') answer(await loans.answer(question));
    };
    nsp.on(QUESTION as never, owned('answering a worker that recovers a client', onQuestion) as never);
  }

  count(outcome: RecoveryOutcome): void {
    this.outcomes[outcome]++;
    if (bounded.has(outcome)) this.options.onBound?.(outcome);
  }

  subscribed(): Promise<void> {
    return this.options.subscribed?.() ?? Promise.resolve();
  }

  caughtUp(): Promise<boolean> {
    const { caughtUp } = this.options;
    if (!caughtUp) return Promise.resolve(true);
    const isKnown = caughtUp().then(
      () => true,
      () => false,
    );
    return within(MAX_LAG_MS, isKnown, () => false);
  }

  get id(): number {
    return this.links?.id ?? 0;
  }

  get members(): readonly number[] {
    return this.links?.members ?? [];
  }

  get state(): RecoveryState | undefined {
    const { memory, outcomes } = this;
    const all = [...this.namespaces.values()].map(({ sessions }) => sessions);
    if (all.length === 0) return undefined;
    const sum = (count: 'size' | 'dropped') => all.reduce((total, sessions) => total + sessions[count], 0);
    return {
      bytes: { packets: memory.bytes, sessions: this.sessionMemory.bytes },
      packets: memory.size,
      sessions: sum('size'),
      dropped: { packets: memory.dropped, sessions: sum('dropped') },
      outcomes,
    };
  }

  nameOf(id: number): string | undefined {
    return this.spansMachines ? undefined : id.toString(36);
  }

  send(to: number, message: RecoveryMessage): void {
    this.links?.send(to, encodeMessage(message));
  }

  flush(): void {
    this.links?.flush?.();
  }

  tellAll(message: RecoveryMessage): void {
    const bytes = encodeMessage(message);
    if (!this.spansMachines) this.links?.broadcast(bytes);
    else {
      const { adapter } = this.namespaces.get(message.nsp) ?? {};
      own(
        'telling other machines of sessions',
        Promise.resolve(adapter?.serverSideEmit([EVENT, bytes.toString('base64')])),
      );
    }
  }

  askAll(nsp: string, question: LoanQuestion): Promise<{ answers: readonly unknown[]; isComplete: boolean }> {
    return new Promise((resolve) => {
      const end = (error: unknown, answers: unknown) => {
        resolve({ answers: Array.isArray(answers) ? answers : [], isComplete: !error });
      };
      const { adapter } = this.namespaces.get(nsp) ?? {};
      // Without workers that answer, such as when the backplane is down, an adapter may reject.
      Promise.resolve(adapter?.serverSideEmit([QUESTION, question, end]) as unknown).catch((error) => end(error, []));
      if (!adapter) end(true, []);
    });
  }

  private receiveText(nsp: string, text: unknown): void {
    if (typeof text === 'string') this.receive(undefined, Buffer.from(text, 'base64'), nsp);
  }

  private receive(from: number | undefined, bytes: Buffer, nsp?: string): void {
    let message: RecoveryMessage;
    try {
      message = decodeMessage(bytes);
    } catch (error) {
      if (!(error instanceof MalformedMessage)) throw error;
      return thisProcess.reports.malformed('bus', error.message);
    }
    const namespace = this.namespaces.get(nsp ?? message.nsp);
    if (namespace) return namespace.receive(from, message);
    // A namespace that only the other worker has.
    if (from === undefined) return;
    if (message.type === 'find') this.send(from, { ...message, type: 'found', isHere: false });
    if (message.type === 'ask') {
      this.send(from, {
        ...message,
        type: 'history',
        since: Date.now(),
        streams: [],
        sessions: [],
        isLast: true,
        isAbsent: true,
      });
    }
  }

  remove(target: RemovalTarget): string[] {
    return [...this.namespaces.values()].flatMap((namespace) => namespace.remove(target));
  }

  lost(): void {
    for (const namespace of this.namespaces.values()) namespace.lost();
  }

  private sweep(): void {
    let retentionMs = 0;
    for (const namespace of this.namespaces.values()) {
      namespace.sweep();
      retentionMs = Math.max(retentionMs, namespace.retentionMs);
    }
    this.memory.dropBefore(Date.now() - retentionMs);
  }

  private endSweeps(): void {
    clearInterval(this.timer);
    this.timer = undefined;
  }

  close(): void {
    this.endSweeps();
    this.gate.turns.close();
    for (const namespace of this.namespaces.values()) namespace.close();
    this.namespaces.clear();
  }
}
