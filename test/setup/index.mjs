// Runs before jest: sees to it that the programs which the tests start are there, or says which tests are left out.
// jest.config.js leaves them out. The tests start the programs on free ports, with data of their own.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { byHand } from './plan.mjs';
import { PROGRAMS } from './programs.mjs';
import { asRoot, planHere } from './situation.mjs';

const { install, fails, message } = planHere();
if (message) console.error(message);
if (fails) process.exit(1);

if (install.length > 0) {
  const script = fileURLToPath(new URL('install.mjs', import.meta.url));
  const [command, ...args] = [...asRoot, process.execPath, script, ...install];
  const { status } = spawnSync(command, args, { stdio: 'inherit' });
  const missing = PROGRAMS.filter(({ found }) => !found()).map((program) => program.package);
  if (status !== 0 || missing.length > 0) {
    console.error(`The set-up failed${missing.length > 0 ? `: still missing: ${missing.join(', ')}` : ''}.`);
    console.error(byHand(missing.length > 0 ? missing : install));
    process.exit(1);
  }
  console.error('Installed. The tests start.');
}
