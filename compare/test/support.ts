import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { jest } from '@jest/globals';
import { own } from '../../test/support/children.js';
import { cleanEnvironment } from '../../test/support/server.js';
import { compare } from '../src/index.js';

/** The command, which loads the package as it is built. */
const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

/** The path of an application of these tests. */
export const app = (name: string) => fileURLToPath(new URL(`apps/${name}`, import.meta.url));

/**
 * Starts a command of gjallar.
 * @param shell arguments of a shell that runs it, if it must be one
 */
export function startCommand(args: string[], environment: Record<string, string> = {}, shell?: string[]) {
  const [program, before] = shell ? ['/bin/sh', shell] : [process.execPath, []];
  const child = own(
    spawn(program, [...before, main, ...args], {
      env: { ...cleanEnvironment(), ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    }),
  );
  let out = '';
  let error = '';
  child.stdout!.on('data', (part) => {
    out += part;
  });
  child.stderr!.on('data', (part) => {
    error += part;
  });
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, out, error }));
  return { child, ended, errors: () => error };
}

/** Runs `gjallar compare` to its end. */
export const runCompare = (args: string[], environment?: Record<string, string>) =>
  startCommand(['compare', ...args], environment).ended;

/** The result of `gjallar compare --json` without costs, and its exit code. */
export async function compareResult(args: string[], environment?: Record<string, string>) {
  const { code, out, error } = await runCompare(['--json', '--clients', '0', ...args], environment);
  return { code, error, result: JSON.parse(out) };
}

/**
 * Runs `gjallar compare` in this process: what it rejects needs no process of its own. Two calls at once would read each
 * other's output.
 */
export async function callCompare(args: string[]) {
  const written = { out: '', error: '' };
  const spies = (['log', 'error'] as const).map((name) =>
    jest.spyOn(console, name).mockImplementation((line) => {
      written[name === 'log' ? 'out' : name] += `${line}\n`;
    }),
  );
  try {
    return { code: await compare(args, { version: '0.0.0', program: main, register: '' }, {}), ...written };
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}
