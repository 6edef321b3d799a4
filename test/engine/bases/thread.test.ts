import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';

const root = fileURLToPath(new URL('../../../', import.meta.url));

const script = `
  import { Worker } from 'node:worker_threads';
  const thread = new Worker(\`
    const { Server } = await import('./build/index.js');
    const { socketsInUse } = await import('./build/engine/uws/uws.js');
    const { createServer } = await import('node:http');
    const { parentPort } = await import('node:worker_threads');
    const http = createServer();
    new Server(http);
    http.listen(0, '127.0.0.1', () => parentPort.postMessage(socketsInUse.reason));
  \`, { eval: true });
  const reason = await new Promise((resolve, reject) => thread.once('message', resolve).once('error', reject));
  await thread.terminate();
  console.log(reason);
`;

test('a worker thread that serves can be terminated, and the process goes on', () => {
  const env = { ...process.env, GJALLAR_SOCKETS: '' };
  const options = { cwd: root, encoding: 'utf8', env } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], options);
  expect({ status, stdout, stderr }).toEqual({
    status: 0,
    stdout: 'uWebSockets.js cannot be used in a worker thread\n',
    stderr: '',
  });
});
