import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const command = fileURLToPath(new URL('../../../load/torture.js', import.meta.url));

/** The line of JSON that a scenario ends with. */
interface Result {
  ok: boolean;
  figures: { name: string; value: number | string; times?: number }[];
}

/** Runs the command to its end. One that does not end by itself is ended, and cleans up. */
export async function torture(...args: string[]): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, [command, ...args], { stdio: ['ignore', 'pipe', 'pipe'], timeout: 160_000 });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output };
}

/** Runs the short form of a scenario, always with the same seed unless another is given. */
export async function runTorture(
  name: string,
  ...more: string[]
): Promise<{ code: number | null; result: Result; output: string }> {
  const seed = more.includes('--seed') ? [] : ['--seed', '1'];
  const { code, output } = await torture(name, '--short', ...seed, ...more);
  const line = output.split('\n').find((one) => one.startsWith('{"torture"'));
  if (!line) throw new Error(output);
  return { code, result: JSON.parse(line) as Result, output };
}
