import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { applicationWith, root } from '../../io/server/support/package.js';
import { own } from '../../support/children.js';
import { Lines } from '../../support/lines.js';
import { freePort } from '../../support/ports.js';
import { cleanEnvironment } from '../../support/server.js';

export const examples = readdirSync(join(root, 'examples'));

/** What npm runs for a script of an example, as words: `npm start` is the script `start`. */
export function scriptOf(name: string, script: string): string[] {
  const path = join(root, 'examples', name, 'package.json');
  const { scripts } = JSON.parse(readFileSync(path, 'utf8')) as { scripts: Record<string, string> };
  return scripts[script]!.split(' ');
}

/** A process of an example, whose lines on standard output can be awaited. */
export class Program {
  private readonly output = new Lines<string>();

  constructor(readonly child: ChildProcess) {
    createInterface(child.stdout!).on('line', (line) => this.output.add(line));
  }

  get lines(): readonly string[] {
    return this.output.all;
  }

  /** Resolves once the program has printed the line; rejects if it ends before. */
  printed(line: string): Promise<unknown> {
    const ended = once(this.child, 'exit').then(([code]) => {
      throw new Error(`the example ended with ${code} without "${line}"`);
    });
    return Promise.race([this.output.first((each) => each === line), ended]);
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    // A primary stops its workers.
    this.child.kill('SIGTERM');
    await once(this.child, 'exit');
  }
}

/** A command as npm finds it for a script of a package. */
function programOf(command: string, args: string[]): [string, string[]] {
  if (command === 'node') return [process.execPath, args];
  if (command === 'gjallar') return [process.execPath, [join(root, 'dist/main.js'), ...args]];
  const local = join(root, 'node_modules/.bin', command);
  return [existsSync(local) ? local : command, args];
}

/** An example in a folder of its own, with its dependencies as `npm install` there would put them. */
export class Example {
  readonly application = applicationWith({});
  private readonly programs: Program[] = [];

  constructor(readonly name: string) {
    cpSync(join(root, 'examples', name), this.application, { recursive: true });
  }

  /** Starts a program in the folder. */
  spawn(words: readonly string[], environment: Record<string, string> = {}): Program {
    const [command, ...args] = words as [string, ...string[]];
    const child = spawn(...programOf(command, args), {
      cwd: this.application,
      env: { ...cleanEnvironment(), ...environment },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const program = new Program(own(child));
    this.programs.push(program);
    return program;
  }

  /** Starts the example's server, and waits until it listens. Returns its URL. */
  async serve(environment: Record<string, string> = {}, words = scriptOf(this.name, 'start')): Promise<string> {
    const port = await freePort();
    await this.spawn(words, { ...environment, PORT: `${port}` }).printed(`listening on ${port}`);
    return `http://localhost:${port}`;
  }

  async close(): Promise<void> {
    await Promise.all(this.programs.map((program) => program.stop()));
  }
}
