import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Where the clients and their libraries are installed: outside of the repository, and kept for the next run. */
export const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'gjallar-languages');

const sourceOf = (path) => fileURLToPath(new URL(path, import.meta.url));
const inCache = (...path) => join(cache, ...path);
const run = (program, args) => execFileSync(program, args, { stdio: ['ignore', 'ignore', 'inherit'] });

/**
 * A client library.
 * @typedef {object} Language
 * @property {string} library its name and version; a new one is installed again
 * @property {string} source the file of its client; a newer one is installed again
 * @property {string[]} tools the programs that the installation needs, as the shell finds them
 * @property {() => void} install
 * @property {(args: string[]) => [string, string[]]} command the program that runs clients, with its arguments
 */

/** @type {Record<string, Language>} */
export const languages = {
  javascript: {
    library: 'socket.io-client of this repository',
    source: 'javascript.js',
    tools: [],
    install: () => {},
    command: (args) => [process.execPath, [sourceOf('javascript.js'), ...args]],
  },
  java: {
    library: 'io.socket:socket.io-client 2.1.1',
    source: 'java/Client.java',
    tools: ['java', 'javac', 'mvn'],
    install: () => {
      run('mvn', [
        '-q',
        '-B',
        '-f',
        sourceOf('java/pom.xml'),
        'dependency:copy-dependencies',
        `-DoutputDirectory=${inCache('java')}`,
      ]);
      run('javac', ['-cp', inCache('java', '*'), '-d', inCache('java'), sourceOf('java/Client.java')]);
    },
    command: (args) => ['java', ['-cp', `${inCache('java', '*')}:${inCache('java')}`, 'Client', ...args]],
  },
  python: {
    library: 'python-socketio 5.18.1',
    source: 'python/client.py',
    tools: ['python3'],
    install: () => {
      run('python3', ['-m', 'venv', inCache('python')]);
      run(inCache('python', 'bin', 'pip'), ['install', '-q', 'python-socketio[client]==5.18.1']);
    },
    command: (args) => [inCache('python', 'bin', 'python'), [sourceOf('python/client.py'), ...args]],
  },
  rust: {
    library: 'rust_socketio 0.6.0',
    source: 'rust/src/main.rs',
    tools: ['cargo'],
    install: () => {
      cpSync(sourceOf('rust'), inCache('rust'), { recursive: true });
      run('cargo', ['build', '-q', '--release', '--manifest-path', inCache('rust', 'Cargo.toml')]);
    },
    command: (args) => [inCache('rust', 'target', 'release', 'client'), args],
  },
};

/** The programs that are missing for a language. */
export function missingFor({ tools }) {
  return tools.filter((tool) => spawnSync('sh', ['-c', `command -v ${tool}`]).status !== 0);
}

/** Installs a language's client and its library, unless the same ones are installed already. */
export function install(name) {
  const { library, source, install: make } = languages[name];
  const mark = inCache(`${name} ${library.replaceAll(/[^\w.-]/g, '_')}`);
  mkdirSync(inCache(name), { recursive: true });
  if (existsSync(mark) && statSync(mark).mtimeMs > statSync(sourceOf(source)).mtimeMs) return;
  make();
  writeFileSync(mark, '');
}
