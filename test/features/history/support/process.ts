import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Position } from '../../../../src/features/history/store.js';
import { own } from '../../../support/children.js';

const appender = fileURLToPath(new URL('appender.mjs', import.meta.url));

export interface Acknowledged extends Position {
  from: string;
  text: string;
}

/** Another process that appends, with the build; see appender.mjs. `until` is called with each acknowledged message. */
export async function appendInProcess(
  options: object,
  conversation: string,
  from: string,
  count: number,
  until: (acknowledged: Acknowledged[]) => boolean = () => false,
): Promise<Acknowledged[]> {
  const args = [appender, JSON.stringify(options), conversation, from, `${count}`];
  const child = own(spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] }));
  const exit = once(child, 'exit');
  const acknowledged: Acknowledged[] = [];
  for await (const line of createInterface({ input: child.stdout! })) {
    // The last line of a process that was killed may be torn.
    if (!line.endsWith('}')) continue;
    acknowledged.push(JSON.parse(line) as Acknowledged);
    if (until(acknowledged)) child.kill('SIGKILL');
  }
  const [code, signal] = await exit;
  if (code !== 0 && signal !== 'SIGKILL') throw new Error(`The appender ended with ${code ?? signal}.`);
  return acknowledged;
}
