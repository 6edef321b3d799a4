import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '../../support/folder.js';
import { cleanEnvironment } from '../../support/server.js';

export const root = fileURLToPath(new URL('../../..', import.meta.url));

export interface Outcome {
  readonly code: number;
  readonly out: string;
  readonly error: string;
}

/** A folder with gjallar, its dependencies and socket.io: what `npm install gjallar` brings, and nothing else. */
export class InstalledPackage {
  readonly folder = temporaryFolder();
  readonly modules = join(this.folder, 'node_modules');
  readonly main = join(this.modules, 'gjallar', 'dist', 'main.js');

  /** @param socketIo the folder of this repository's node_modules that is its socket.io */
  constructor(socketIo = 'socket.io') {
    const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { dependencies: object };
    for (const name of Object.keys(dependencies)) this.link(name, name);
    this.link('socket.io', socketIo);
    for (const part of ['package.json', 'dist', 'public']) {
      cpSync(join(root, part), join(this.modules, 'gjallar', part), { recursive: true });
    }
  }

  /** Runs a program to its end. */
  run(args: readonly string[], env: Record<string, string> = {}): Promise<Outcome> {
    const options = { cwd: this.folder, env: { ...cleanEnvironment(), ...env }, timeout: 60_000 };
    return new Promise((resolve) => {
      execFile(process.execPath, args, options, (failure, out, error) =>
        resolve({ code: Number(failure?.code ?? 0), out, error }),
      );
    });
  }

  private link(name: string, target: string): void {
    mkdirSync(dirname(join(this.modules, name)), { recursive: true });
    symlinkSync(join(root, 'node_modules', target), join(this.modules, name));
  }
}
