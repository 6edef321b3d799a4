import { setTimeout as wait } from 'node:timers/promises';
import type { Manager } from 'socket.io-client';
import { isRecordedBytes, REMOVED_AUTH, type Step } from '../../../record/steps.js';
import { Activity } from './activity.js';
import { PlayedClient } from './client.js';
import { Neutral } from './neutral.js';
import { observeRequest, type Server } from './request.js';

/** Nothing is waited for longer than this after a step, and at the end, in ms. */
const MAX_SETTLE_MS = 3000;

export interface PlayOptions {
  readonly Manager: new (url: string, options: object) => Manager;
  /** The path of Socket.IO, with a slash at its end. */
  readonly path: string;
  /** The authentication payload of clients whose step has none, or a removed one. */
  readonly auth: Record<string, unknown> | undefined;
  readonly headers: Record<string, string>;
  /** How many times faster than recorded; without it, each step waits until nothing moves. */
  readonly speed: number | undefined;
  /** For how long nothing may have moved before the next step, in ms. */
  readonly settleMs: number;
}

/** What clients saw, by what is observed. */
export type Observed = Record<string, unknown>;

export interface Played {
  readonly observed: Observed;
  /** Milliseconds until events were acknowledged. */
  readonly latencies: readonly number[];
  readonly opened: number;
  readonly emitted: number;
  /** Of the whole play without its end, in ms. */
  readonly durationMs: number;
}

/** Plays traffic to a server, and returns what the clients saw. */
export async function play(steps: readonly Step[], server: Server, options: PlayOptions): Promise<Played> {
  const player = new Player(steps, server, options);
  try {
    await player.run();
    return player.result();
  } finally {
    player.close();
  }
}

class Player {
  private readonly activity: Activity;
  private readonly neutral: Neutral;
  private readonly clients = new Map<string, PlayedClient>();
  private readonly observed: Observed = {};
  private readonly upgrading: ReadonlySet<string>;
  private requests = 0;
  private emitted = 0;
  private durationMs = 0;
  /** A server that leaves one connect without an answer would hold up the play once for each client. */
  private answersConnects = true;

  constructor(
    private readonly steps: readonly Step[],
    private readonly server: Server,
    private readonly options: PlayOptions,
  ) {
    this.activity = new Activity(options.settleMs);
    this.neutral = new Neutral(server.port);
    this.upgrading = new Set(steps.flatMap((step) => (step.do === 'upgrade' ? [step.client] : [])));
  }

  async run(): Promise<void> {
    const { speed } = this.options;
    const began = performance.now();
    for (const step of this.steps) {
      const late = speed === undefined ? 0 : step.at / speed - (performance.now() - began);
      if (late > 1) await wait(late);
      // A slower server must not lose what it has still to say.
      if (step.do === 'leave' || step.do === 'close') await this.activity.settled(MAX_SETTLE_MS);
      // A client that was connected was told of what others did next: a slower server must not turn that around.
      if (step.do === 'connected' && this.answersConnects) {
        this.answersConnects = (await this.clients.get(step.client)?.connected(MAX_SETTLE_MS)) ?? true;
      }
      this.perform(step);
      if (speed === undefined && step.do !== 'open') await this.activity.settled(MAX_SETTLE_MS);
    }
    await this.activity.settled(MAX_SETTLE_MS);
    this.durationMs = performance.now() - began;
  }

  private perform(step: Step): void {
    if (step.do === 'request') return void this.request(step.method, step.path);
    if (step.do === 'open') return this.open(step.client, step.transport, step.query);
    const client = this.clients.get(step.client);
    if (!client) return;
    switch (step.do) {
      case 'connect':
        return client.inTurn(() => client.connect(step.namespace, this.authOf(step.auth)), false);
      case 'emit': {
        this.emitted++;
        const event = { ...step, args: withBytes(step.args) as unknown[], ack: step.ack === true };
        return client.inTurn(() => client.emit(step.namespace, event), false);
      }
      case 'leave':
        return client.inTurn(() => client.leave(step.namespace), true);
      case 'close':
        return client.inTurn(() => client.close(), true);
    }
  }

  private open(name: string, transport: string, query: Record<string, string> = {}): void {
    const { Manager, path, headers } = this.options;
    const { host, port } = this.server;
    const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
    const isUpgrading = this.upgrading.has(name);
    const options = {
      path,
      query,
      extraHeaders: headers,
      transports: isUpgrading ? [transport, 'websocket'] : [transport],
      upgrade: isUpgrading,
    };
    const { activity, neutral } = this;
    const client = new PlayedClient({ name, connect: Manager, url, options, activity, neutral });
    for (const step of this.steps) {
      if (step.do !== 'answer' || step.client !== name) continue;
      const answers = client.answers.get(step.namespace) ?? [];
      client.answers.set(step.namespace, answers);
      answers.push(withBytes(step.args) as unknown[]);
    }
    this.clients.set(name, client);
  }

  private authOf(auth: unknown): Record<string, unknown> | undefined {
    if (auth === undefined || auth === REMOVED_AUTH) return this.options.auth;
    return auth as Record<string, unknown>;
  }

  private async request(method: string, path: string): Promise<void> {
    const end = this.activity.begin();
    const isEngine = path.startsWith(this.options.path);
    const name = `${method} ${path} (request ${++this.requests})`;
    this.observed[name] = await observeRequest(this.server, method, path, isEngine, this.neutral);
    end();
  }

  result(): Played {
    const { observed, neutral, emitted, durationMs } = this;
    const latencies: number[] = [];
    for (const [name, { received, acks, latencies: own }] of this.clients) {
      for (const [namespace, entries] of received) observed[`client ${name} on ${namespace}`] = neutral.value(entries);
      for (const [namespace, entries] of acks)
        observed[`acknowledgements of ${name} on ${namespace}`] = neutral.value(entries);
      latencies.push(...own);
    }
    return { observed, latencies, opened: this.clients.size, emitted, durationMs };
  }

  close(): void {
    for (const client of this.clients.values()) client.close();
  }
}

/** Bytes that a recording left out are as many zeros. */
function withBytes(value: unknown): unknown {
  if (isRecordedBytes(value)) return Buffer.alloc(Math.min(value.$bytes, 1024 * 1024));
  if (Array.isArray(value)) return value.map(withBytes);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withBytes(one)]));
}
