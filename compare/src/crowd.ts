import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { Manager, type Socket } from 'socket.io-client';
import { type Server, urlOf } from './observation.js';
import type { SentEvent } from './options.js';
import type { PlayOptions } from './player.js';
import { cpuOf, familyOf, pssOf } from './processes.js';

/** How many clients connect at the same time. */
const CONCURRENT = 10;
/** A client that takes longer to connect is left out, in ms. */
const MAX_CONNECT_MS = 10_000;
/** The clock of the messages: how often those that are due are sent, in ms. */
const TICK_MS = 5;

export interface CrowdOptions extends PlayOptions {
  /** How many clients connect for the figures; as many connect before, as a warm-up. */
  readonly clients: number;
  readonly namespace: string;
  readonly events: readonly SentEvent[];
  /** Messages a second of all clients together. */
  readonly rate: number;
  readonly seconds: number;
}

/** What an application costs. NaN where something could not be measured. */
export interface Figures {
  readonly cpuPerConnect: number;
  readonly memoryIdle: number;
  /** With the clients of the measurement connected, in bytes; `memoryIdle` is without them. */
  readonly memoryConnected: number;
  readonly connectP50: number;
  readonly connectP99: number;
  readonly cpuPerMessage: number;
  readonly ackP50: number;
  readonly ackP99: number;
}

/** Connects clients that stay, lets them send messages, and measures what both cost the application. */
export async function measureCrowd(pid: number, server: Server, options: CrowdOptions): Promise<Figures> {
  const crowd = new Crowd(server, options);
  try {
    await crowd.connect(options.clients);
    crowd.leave();
    await wait(options.settleMs * 5);
    const memoryIdle = memoryOf(pid);
    const before = cpuMicros(pid);
    const latencies = await crowd.connect(options.clients);
    await wait(options.settleMs * 5);
    const connected = crowd.size;
    const cpuPerConnect = (cpuMicros(pid) - before) / connected;
    const memoryConnected = memoryOf(pid);
    const messages = await crowd.talk(pid);
    return {
      cpuPerConnect,
      memoryIdle,
      memoryConnected,
      connectP50: percentile(latencies, 0.5),
      connectP99: percentile(latencies, 0.99),
      ...messages,
    };
  } finally {
    crowd.leave();
  }
}

class Crowd {
  private sockets: Socket[] = [];

  constructor(
    private readonly server: Server,
    private readonly options: CrowdOptions,
  ) {}

  get size(): number {
    return this.sockets.length;
  }

  /** @returns how long each client took, in ms */
  async connect(clients: number): Promise<number[]> {
    const latencies: number[] = [];
    let left = clients;
    const connectNext = async (): Promise<void> => {
      while (left-- > 0) {
        const began = performance.now();
        if (await this.connectOne()) latencies.push(performance.now() - began);
      }
    };
    await Promise.all(Array.from({ length: CONCURRENT }, connectNext));
    return latencies;
  }

  private async connectOne(): Promise<boolean> {
    const { path, headers, auth, namespace } = this.options;
    const manager = new Manager(urlOf(this.server), {
      ...{ path, extraHeaders: headers, transports: ['websocket'], reconnection: false, timeout: MAX_CONNECT_MS },
    });
    const socket = manager.socket(namespace, { auth });
    try {
      await Promise.race([
        once(socket as never, 'connect', { signal: AbortSignal.timeout(MAX_CONNECT_MS) }),
        once(socket as never, 'connect_error').then(() => Promise.reject()),
      ]);
      this.sockets.push(socket);
      return true;
    } catch {
      socket.disconnect();
      return false;
    }
  }

  /** Sends messages for a while, at an even pace. The first second is a warm-up. */
  async talk(pid: number): Promise<Pick<Figures, 'cpuPerMessage' | 'ackP50' | 'ackP99'>> {
    const { events, rate, seconds } = this.options;
    const latencies: number[] = [];
    if (events.length === 0 || this.size === 0) {
      return { cpuPerMessage: Number.NaN, ackP50: Number.NaN, ackP99: Number.NaN };
    }
    let sent = 0;
    const send = (isMeasured: boolean) => {
      const { event, args, ack } = events[sent % events.length]!;
      const socket = this.sockets[sent++ % this.size]!;
      if (!ack) return void socket.emit(event, ...args);
      const began = performance.now();
      socket.emit(event, ...args, () => isMeasured && latencies.push(performance.now() - began));
    };
    const run = async (forSeconds: number, isMeasured: boolean) => {
      const began = performance.now();
      let done = 0;
      while (done < rate * forSeconds) {
        const due = Math.min(rate * forSeconds, ((performance.now() - began) / 1000) * rate);
        while (done < due) {
          send(isMeasured);
          done++;
        }
        await wait(TICK_MS);
      }
      return done;
    };
    await run(1, false);
    const before = cpuMicros(pid);
    const messages = await run(seconds, true);
    await wait(this.options.settleMs);
    return {
      cpuPerMessage: (cpuMicros(pid) - before) / messages,
      ackP50: percentile(latencies, 0.5),
      ackP99: percentile(latencies, 0.99),
    };
  }

  leave(): void {
    for (const socket of this.sockets) socket.disconnect();
    this.sockets = [];
  }
}

/** CPU time of an application so far, in µs; NaN where the kernel does not tell. */
const cpuMicros = (pid: number) => familyOf(pid).reduce((sum, one) => sum + cpuOf(one), 0) || Number.NaN;

/** Memory of an application in bytes; NaN where the kernel does not tell. */
const memoryOf = (pid: number) => familyOf(pid).reduce((sum, one) => sum + pssOf(one), 0) || Number.NaN;

/** The value below which a share of all values lies; NaN without values. */
function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
