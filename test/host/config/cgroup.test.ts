import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from '@jest/globals';
import { memoryLimit, processorLimit } from '../../../src/base/system-limits.js';
import { temporaryFolder } from '../../support/folder.js';
import { cleanEnvironment } from '../../support/server.js';

const main = fileURLToPath(new URL('../../../dist/main.js', import.meta.url));
const MIB = 2 ** 20;
const cleanUps: (() => void)[] = [];
afterEach(() => {
  for (const cleanUp of cleanUps.splice(0).reverse()) cleanUp();
});

/** A machine with groups: what /proc/self says, and the files of the groups. `TOP` is where they are mounted. */
function machine(cgroup: string, mountinfo: string, files: Record<string, string>): string {
  const folder = temporaryFolder();
  // The fields are separated by spaces: Linux writes one within a path as its octal code.
  const top = join(folder, 'top').replaceAll(' ', '\\040');
  const all = { cgroup, mountinfo: mountinfo.replaceAll('TOP', top), ...files };
  for (const [name, text] of Object.entries(all)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), `${text}\n`);
  }
  return folder;
}

const version2 = '26 23 0:23 / TOP rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate';
const service = '0::/system.slice/gjallar.service';

test.each([
  [
    "MemoryMax= of systemd's service",
    machineOf(service, version2, { 'top/system.slice/gjallar.service/memory.max': `${512 * MIB}` }),
    512,
  ],
  [
    'a smaller limit of the slice around it',
    machineOf(service, version2, {
      'top/system.slice/memory.max': `${256 * MIB}`,
      'top/system.slice/gjallar.service/memory.max': `${512 * MIB}`,
    }),
    256,
  ],
  ['no limit', machineOf(service, version2, { 'top/system.slice/gjallar.service/memory.max': 'max' }), 4096],
  ['a limit beyond the memory', machineOf('0::/', version2, { 'top/memory.max': `${2 ** 50}` }), 4096],
  ['a container with groups of its own', machineOf('0::/', version2, { 'top/memory.max': `${300 * MIB}` }), 300],
  ['a process that was moved out', machineOf('0::/../other', version2, { 'top/memory.max': `${300 * MIB}` }), 300],
  [
    'version 1',
    machineOf('5:cpu:/a\n4:memory:/a/b\n0::/c', '35 31 0:32 / TOP rw - cgroup cgroup rw,memory', {
      'top/memory.limit_in_bytes': '9223372036854771712',
      'top/a/memory.limit_in_bytes': `${128 * MIB}`,
      'top/a/b/memory.limit_in_bytes': '9223372036854771712',
    }),
    128,
  ],
  [
    'a container of version 1 that sees the path outside',
    machineOf('4:memory:/docker/id/app', '35 31 0:32 /docker/id TOP rw - cgroup cgroup rw,memory', {
      'top/memory.limit_in_bytes': `${200 * MIB}`,
      'top/app/memory.limit_in_bytes': `${100 * MIB}`,
    }),
    100,
  ],
  ['a system without groups', machineOf('', '', {}), 4096],
])('memory: %s', (_name, make, limit) => {
  expect(memoryLimit(make(), 4096 * MIB) / MIB).toBe(limit);
});

test.each([
  ['version 2', machineOf(service, version2, { 'top/system.slice/cpu.max': '150000 100000' }), 1.5],
  ['no limit', machineOf(service, version2, { 'top/system.slice/cpu.max': 'max 100000' }), 8],
  [
    'version 1',
    machineOf('4:cpu,cpuacct:/a', '35 31 0:32 / TOP rw - cgroup cgroup rw,cpu,cpuacct', {
      'top/cpu.cfs_quota_us': '-1',
      'top/cpu.cfs_period_us': '100000',
      'top/a/cpu.cfs_quota_us': '50000',
      'top/a/cpu.cfs_period_us': '100000',
    }),
    0.5,
  ],
])('processors: %s', (_name, make, limit) => {
  expect(processorLimit(make(), 8)).toBe(limit);
});

function machineOf(...values: Parameters<typeof machine>): () => string {
  return () => machine(...values);
}

/** The folder of this process's group, where root may make groups within it. */
function ownGroup(): { folder: string; file: string } | undefined {
  const groups = readFileSync('/proc/self/cgroup', 'utf8');
  const ofVersion1 = `/sys/fs/cgroup/memory${/^\d+:memory:(.*)$/m.exec(groups)?.[1]}`;
  const ofVersion2 = `/sys/fs/cgroup${/^0::(.*)$/m.exec(groups)?.[1]}`;
  const folder = existsSync(join(ofVersion1, 'memory.limit_in_bytes')) ? ofVersion1 : ofVersion2;
  const file = folder === ofVersion1 ? 'memory.limit_in_bytes' : 'memory.max';
  try {
    const trial = join(folder, `gjallar-${process.pid}`);
    mkdirSync(trial);
    const isLimited = existsSync(join(trial, file));
    rmdirSync(trial);
    return isLimited ? { folder, file } : undefined;
  } catch {
    return undefined;
  }
}

const own = process.platform === 'linux' ? ownGroup() : undefined;

(own ? test : test.skip)('a process in a real group within a limited one has the limit of both', () => {
  const outer = join(own!.folder, `gjallar-outer-${process.pid}`);
  const inner = join(outer, 'inner');
  for (const folder of [outer, inner]) {
    mkdirSync(folder);
    cleanUps.push(() => rmdirSync(folder));
  }
  writeFileSync(join(outer, own!.file), `${512 * MIB}`);
  const script = 'echo $$ > "$0" && exec "$@"';
  const args = ['-c', script, join(inner, 'cgroup.procs'), process.execPath, main, 'doctor'];
  const env = { ...cleanEnvironment(), PORT: '0', WORKERS: '2' };
  const { stdout } = spawnSync('sh', args, { env, encoding: 'utf8', timeout: 30_000 });
  expect(stdout).toContain('512 MiB of memory for 2 workers');
});
