import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { endWithFile } from './support/children.js';

const script = `
  const { createLog } = await import(process.argv[1]);
  const log = createLog('info', { process: 'primary' });
  process.stdin.once('data', () => {
    log.error('a line that is on its way');
    log.fatal('the primary is gone');
    process.exit(3);
  });
  process.stderr.write('ready');
`;

test('a process whose log has no reader any more ends', async () => {
  const log = fileURLToPath(new URL('../build/log.js', import.meta.url));
  const child = endWithFile(
    spawn(process.execPath, ['--input-type=module', '-e', script, log], { stdio: ['pipe', 'pipe', 'pipe'] }),
  );
  await once(child.stderr!, 'data');
  child.stdout!.destroy();
  await once(child.stdout!, 'close');
  child.stdin!.write('go');
  expect(await once(child, 'exit')).toEqual([3, null]);
}, 30_000);
