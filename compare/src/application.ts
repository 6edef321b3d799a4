import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as wait } from 'node:timers/promises';
import { type Server, send } from './observation.js';
import { familyOf, listenersOf } from './processes.js';

/** An application that takes longer to end is killed, in ms. */
const MAX_END_MS = 10_000;
/** So much of what the application prints is kept, in characters. */
const MAX_PRINTED = 16_384;

export interface StartOptions {
  /** The arguments of Node.js. */
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The port of the variable PORT. */
  readonly port: number;
  /** The port on which Socket.IO answers, if the application does not listen on PORT. */
  readonly fixedPort: number | undefined;
  /** The path of Socket.IO. */
  readonly path: string;
  readonly startTimeoutMs: number;
  /** What the standard output must have said before the application counts as started. */
  readonly greeting?: RegExp;
}

/** The application could not be started, or ended by itself. */
export class ApplicationError extends Error {}

const running = new Set<Application>();

/** Kills what runs of all applications, without waiting. */
export function killAll(): void {
  for (const application of running) application.kill('SIGKILL');
}

/** The application of the user, in a group of processes of its own. */
export class Application {
  readonly pid: number;
  server: Server = { host: '127.0.0.1', port: 0 };
  private readonly child: ChildProcess;
  private printed = '';
  private errors = '';
  private readonly ended: Promise<void>;
  private end: string | undefined;

  private constructor({ args, environment, port }: StartOptions) {
    const env = { ...environment, PORT: String(port) };
    // A group of its own, so that what the application starts ends with it.
    this.child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    running.add(this);
    this.pid = this.child.pid ?? 0;
    this.child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      this.printed = (this.printed + text).slice(-MAX_PRINTED);
    });
    this.child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.errors = (this.errors + text).slice(-MAX_PRINTED);
    });
    this.ended = new Promise((resolve) => {
      this.child.once('error', (error) => {
        this.end = error.message;
        resolve();
      });
      this.child.once('close', resolve);
      this.child.once('exit', (code, signal) => {
        this.end = signal ? `signal ${signal}` : `code ${code}`;
        this.kill('SIGKILL');
        running.delete(this);
        // A process that has left the group can keep the output open.
        setTimeout(resolve, 500).unref();
      });
    });
  }

  /** @throws ApplicationError if it ends, or if no Socket.IO answers in time */
  static async start(options: StartOptions): Promise<Application> {
    const application = new Application(options);
    try {
      application.server = await application.listening(options);
      return application;
    } catch (error) {
      await application.stop();
      throw error;
    }
  }

  /** How it ended; undefined while it runs. */
  get endedWith(): string | undefined {
    return this.end;
  }

  /** The line of the error that ended it, or the last line that it printed. */
  get lastError(): string {
    const lines = this.errors.trim().split('\n');
    return (lines.find((line) => /^(\w*Error\b|gjallar: )/.test(line)) ?? lines.at(-1) ?? '').trim();
  }

  private async listening(options: StartOptions): Promise<Server> {
    const { port, fixedPort, path, startTimeoutMs, greeting } = options;
    const deadline = performance.now() + startTimeoutMs;
    let found: Server[] = [];
    while (performance.now() < deadline) {
      if (this.end) throw new ApplicationError(`ended at its start with ${this.end}: ${this.lastError}`);
      found = listenersOf(familyOf(this.pid));
      const given = fixedPort ?? port;
      const first = found.filter((one) => one.port === given);
      // Where the kernel does not tell, the port is tried on the chance.
      const candidates = first.length > 0 ? first : [{ host: '127.0.0.1', port: given }];
      if (fixedPort === undefined) candidates.push(...found.filter((one) => one.port !== given));
      const isGreeted = !greeting || greeting.test(this.printed);
      for (const one of isGreeted ? candidates : []) if (await isSocketIo(one, path)) return one;
      await wait(50);
    }
    const ports = [...new Set(found.map((one) => one.port))];
    const where =
      ports.length === 0 ? 'did not listen' : `listens on ${ports.join(', ')}, but no Socket.IO answers at ${path}`;
    throw new ApplicationError(`${where} within ${startTimeoutMs / 1000} s; see --port, --path and --start-timeout`);
  }

  /** Ends the application and all that it has started. */
  async stop(): Promise<void> {
    this.kill('SIGTERM');
    const late = setTimeout(() => this.kill('SIGKILL'), MAX_END_MS);
    await this.ended;
    clearTimeout(late);
  }

  kill(signal: NodeJS.Signals): void {
    if (!this.pid) return;
    try {
      process.kill(-this.pid, signal);
    } catch {
      // All its processes have ended.
    }
  }
}

/** Whether an Engine.IO server answers. A handshake would leave a session behind. */
async function isSocketIo(server: Server, path: string): Promise<boolean> {
  try {
    const { body } = await send(server, 'GET', `${path}?EIO=4&transport=none`);
    return typeof (JSON.parse(body.toString()) as { code?: unknown }).code === 'number';
  } catch {
    return false;
  }
}
