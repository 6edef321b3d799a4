import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { embeddedBackplane } from '../../../../src/cluster/backplanes/frames/open.js';
import { Mesh } from '../../../../src/cluster/mesh/mesh.js';
import { linksOf } from '../../../../src/host/runtime/backplane.js';
import { startMember } from '../../../io/rooms/support/node.js';
import { until } from '../../../support/until.js';

const script = fileURLToPath(new URL('../support/other-worker.mjs', import.meta.url));

test('what waits for the answer of a worker that is killed ends with its death', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'gjallar-gone-'));
  const mesh = new Mesh(1, directory);
  await mesh.listen();
  const member = await startMember(embeddedBackplane(linksOf(mesh)));
  const other = spawn(process.execPath, [script, directory, '2', '1'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines = createInterface(other.stdout)[Symbol.asyncIterator]();
  try {
    expect((await lines.next()).value).toBe('ready');
    await until(async () => (await member.io.of('/').adapter.serverCount()) === 2);
    const answers = new Promise((resolve) => {
      member.io.serverSideEmit('question', (error: Error | null, values: unknown[]) => resolve([error, values]));
    });
    expect((await lines.next()).value).toBe('asked');
    // It is stopped first, so that it does not answer this.
    other.kill('SIGSTOP');
    const sockets = member.io.fetchSockets();
    other.kill('SIGKILL');
    // Both would be errors if the time limit of 5 s had ended them.
    expect(await answers).toEqual([null, []]);
    expect(await sockets).toEqual([]);
    expect(await member.io.of('/').adapter.serverCount()).toBe(1);
  } finally {
    const exit = once(other, 'exit');
    if (other.kill('SIGKILL')) await exit;
    await member.close();
    mesh.close();
    rmSync(directory, { recursive: true, force: true });
  }
});
