import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { cleanEnvironment } from '../../test/support/server.js';

const root = fileURLToPath(new URL('../..', import.meta.url));

test('a start with NATS but without its client ends with the command that installs it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'gjallar-nats-client-'));
  try {
    for (const name of ['dist', 'package.json']) await symlink(join(root, name), join(folder, name));
    await mkdir(join(folder, 'node_modules'));
    const packages = (await readdir(join(root, 'node_modules'))).filter((name) => name !== 'gjallar-nats');
    for (const name of packages) await symlink(join(root, 'node_modules', name), join(folder, 'node_modules', name));
    const args = ['--preserve-symlinks', '--preserve-symlinks-main', join(folder, 'dist/main.js')];
    const env = { ...cleanEnvironment(), NATS_URL: 'nats://localhost', HISTORY_TTL: '0' };
    const { status, stderr } = spawnSync(process.execPath, args, { env, encoding: 'utf8', timeout: 60_000 });
    const line = 'BUS=nats needs a package that is not installed. Run: npm install gjallar-nats@0.2';
    expect({ status, stderr }).toEqual({ status: 1, stderr: `gjallar: ${line}\n` });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
