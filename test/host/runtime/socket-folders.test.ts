import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, utimes } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { makeSocketFolder, removeAbandoned } from '../../../src/base/socket-folders.js';
import { until } from '../../support/until.js';

let parent: string;
let gone: number;
beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'gjallar-folders-'));
  const child = spawn(process.execPath, ['--eval', '']);
  await once(child, 'close');
  gone = child.pid!;
});
afterEach(() => rm(parent, { recursive: true, force: true }));

const old = new Date(Date.now() - 120_000);

async function folderOf(pid: number, ending: string, at = old): Promise<string> {
  const folder = join(parent, `gjallar-${pid}-${ending}`);
  await mkdir(folder);
  await utimes(folder, at, at);
  return folder;
}

/** Leaves a socket behind, as a process that is killed. */
async function leaveSocket(path: string): Promise<void> {
  const program = `require('node:net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`;
  await once(spawn(process.execPath, ['--eval', program]), 'close');
}

test('folders of processes that were killed are removed, with their sockets', async () => {
  const empty = await folderOf(gone, 'aaaaaa');
  const left = await folderOf(gone, 'bbbbbb');
  await leaveSocket(join(left, '1'));
  await utimes(left, old, old);
  expect(existsSync(join(left, '1'))).toBe(true);
  await removeAbandoned(parent);
  expect([empty, left].filter(existsSync)).toEqual([]);
});

test('folders stay that are in use, that are new, or that have other names', async () => {
  const listening = await folderOf(gone, 'aaaaaa');
  const server = createServer().listen(join(listening, '1'));
  await once(server, 'listening');
  await utimes(listening, old, old);
  const others = [
    listening,
    await folderOf(process.pid, 'bbbbbb'),
    await folderOf(gone, 'cccccc', new Date()),
    await folderOf(gone, 'backup1'),
  ];
  await removeAbandoned(parent);
  expect(others.filter(existsSync)).toEqual(others);
  await new Promise((resolve) => server.close(resolve));
});

test('a start creates a folder with the id of the process, and removes the others', async () => {
  const abandoned = await folderOf(gone, 'aaaaaa');
  const folder = makeSocketFolder(parent);
  expect(folder.startsWith(join(parent, `gjallar-${process.pid}-`))).toBe(true);
  await until(() => !existsSync(abandoned));
  expect(existsSync(folder)).toBe(true);
});
