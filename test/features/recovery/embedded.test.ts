import { temporaryFolder } from '../../support/folder.js';
import { recoveryContract } from './recovery.contract.js';
import { joinMesh } from './support/recovering.js';

recoveryContract('embedded', 4, async () => {
  const directory = temporaryFolder();
  const ids: number[] = [];
  return {
    openBackplane: () => {
      const others = [...ids];
      ids.push(ids.length + 1);
      return joinMesh(directory, ids.length, others);
    },
    remove: async () => {},
  };
});
