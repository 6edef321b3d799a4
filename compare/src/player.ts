import { Activity, PlayedClient } from './client.js';
import { Neutral, observeRequest, type Server, urlOf } from './observation.js';
import type { Step } from './steps.js';

/** Nothing is waited for longer than this after a step, and at the end, in ms. */
const MAX_SETTLE_MS = 3000;

export interface PlayOptions {
  /** The path of Socket.IO, with a slash at its end. */
  readonly path: string;
  /** The authentication payload of clients whose step has none. */
  readonly auth: Record<string, unknown> | undefined;
  readonly headers: Record<string, string>;
  /** For how long nothing may have moved before the next step, in ms. */
  readonly settleMs: number;
}

/** What clients saw, by what is observed. */
export type Observed = Record<string, unknown>;

/** Plays steps to a server, and returns what the clients saw. After each step, it waits until nothing moves. */
export async function play(steps: readonly Step[], server: Server, options: PlayOptions): Promise<Observed> {
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
    for (const step of this.steps) {
      this.perform(step);
      if (step.do !== 'open') await this.activity.settled(MAX_SETTLE_MS);
    }
    await this.activity.settled(MAX_SETTLE_MS);
  }

  private perform(step: Step): void {
    if (step.do === 'request') return void this.request(step.method, step.path);
    if (step.do === 'open') return this.open(step.client, step.transport, step.query);
    const client = this.clients.get(step.client);
    if (!client) return;
    switch (step.do) {
      case 'connect':
        return client.inTurn(() => client.connect(step.namespace, step.auth ?? this.options.auth), false);
      case 'emit':
        return client.inTurn(() => client.emit(step.namespace, { ...step, ack: step.ack === true }), false);
      case 'leave':
        return client.inTurn(() => client.leave(step.namespace), true);
      case 'close':
        return client.inTurn(() => client.close(), true);
    }
  }

  private open(name: string, transport: string, query: Record<string, string> = {}): void {
    const { path, headers } = this.options;
    const isUpgrading = this.upgrading.has(name);
    const options = {
      path,
      query,
      extraHeaders: headers,
      transports: isUpgrading ? [transport, 'websocket'] : [transport],
      upgrade: isUpgrading,
    };
    const { activity, neutral } = this;
    const client = new PlayedClient({ name, url: urlOf(this.server), options, activity, neutral });
    for (const step of this.steps) {
      if (step.do !== 'answer' || step.client !== name) continue;
      const answers = client.answers.get(step.namespace) ?? [];
      client.answers.set(step.namespace, answers);
      answers.push(step.args);
    }
    this.clients.set(name, client);
  }

  private async request(method: string, path: string): Promise<void> {
    const end = this.activity.begin();
    const isEngine = path.startsWith(this.options.path);
    const name = `${method} ${path} (request ${++this.requests})`;
    this.observed[name] = await observeRequest(this.server, method, path, isEngine, this.neutral);
    end();
  }

  result(): Observed {
    const { observed, neutral } = this;
    for (const [name, { received, acks }] of this.clients) {
      for (const [namespace, entries] of received) observed[`client ${name} on ${namespace}`] = neutral.value(entries);
      for (const [namespace, entries] of acks)
        observed[`acknowledgements of ${name} on ${namespace}`] = neutral.value(entries);
    }
    return observed;
  }

  close(): void {
    for (const client of this.clients.values()) client.close();
  }
}
