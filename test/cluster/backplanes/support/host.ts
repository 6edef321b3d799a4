import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Hosts } from '../../../support/hosts.js';
import { cleanEnvironment, type LogLine } from '../../../support/server.js';

const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/** The service on a host. */
export class HostedServer {
  readonly log: LogLine[] = [];
  readonly url: string;
  /** Resolves when it listens. */
  readonly ready: Promise<void>;

  constructor(hosts: Hosts, host: string, environment: Record<string, string>) {
    const address = hosts.addressOf(host);
    this.url = `http://${address}:3000`;
    const env = { ...cleanEnvironment(), HOST: address, PORT: '3000', WORKERS: '2', ...environment };
    const child = hosts.run(host, process.execPath, [path('../../../../dist/main.js')], {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.ready = new Promise((resolve, reject) => {
      createInterface(child.stdout!).on('line', (line) => {
        if (line.includes('gjallar listens on ')) resolve();
        else if (line.startsWith('{')) this.log.push(JSON.parse(line) as LogLine);
      });
      child.once('exit', (code) => reject(new Error(`the server ended with ${code}`)));
    });
  }
}

interface Answer {
  number: number;
  result?: unknown;
  error?: string;
}

/** Clients on a host, in a process of their own. */
export class Guests {
  private readonly child: ChildProcess;
  private readonly waiting = new Map<number, (answer: Answer) => void>();
  private orders = 0;

  constructor(hosts: Hosts, host: string) {
    this.child = hosts.run(host, process.execPath, [path('guest.mjs')], { stdio: ['pipe', 'pipe', 'inherit'] });
    createInterface(this.child.stdout!).on('line', (line) => {
      const answer = JSON.parse(line) as Answer;
      this.waiting.get(answer.number)?.(answer);
      this.waiting.delete(answer.number);
    });
  }

  /** Connects a client, by WebSocket if it is not told otherwise. */
  open(name: string, url: string, transports?: readonly string[]): Promise<unknown> {
    return this.order('open', { name, url, transports });
  }

  /** Sends an event. Resolves with the reply. */
  ask<T = { ok: boolean; code?: string }>(name: string, event: string, ...values: unknown[]): Promise<T> {
    return this.order('ask', { name, event, values }) as Promise<T>;
  }

  /** What a client has heard since the last time. */
  heard(name: string): Promise<[event: string, value: unknown][]> {
    return this.order('heard', { name }) as Promise<[string, unknown][]>;
  }

  /** Fetches JSON. */
  get<T>(url: string): Promise<T> {
    return this.order('get', { url }) as Promise<T>;
  }

  private async order(order: string, input: object): Promise<unknown> {
    const number = ++this.orders;
    const answered = new Promise<Answer>((resolve) => this.waiting.set(number, resolve));
    this.child.stdin!.write(`${JSON.stringify({ number, order, ...input })}\n`);
    const { result, error } = await answered;
    if (error) throw new Error(error);
    return result;
  }
}
