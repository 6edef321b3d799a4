import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { recoveryContract } from './recovery.contract.js';
import { joinMesh } from './support/recovering.js';

recoveryContract('embedded', 4, async () => {
  const directory = await mkdtemp(join(tmpdir(), 'gjallar-recovery-'));
  const ids: number[] = [];
  return {
    openBackplane: () => {
      const others = [...ids];
      ids.push(ids.length + 1);
      return joinMesh(directory, ids.length, others);
    },
    remove: () => rm(directory, { recursive: true, force: true }),
  };
});
