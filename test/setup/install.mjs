// Installs the packages that are its arguments. Runs as root.
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { PROGRAMS } from './programs.mjs';

/** While this script says 101, no package starts its service. */
const POLICY = '/usr/sbin/policy-rc.d';

const packages = process.argv.slice(2);

// apt-get is interrupted too; what was changed for it is then put back.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {});

// One that the machine has is put back afterwards. The directory is beside it, so that both moves are renames.
const aside = existsSync(POLICY) ? join(mkdtempSync(`${dirname(POLICY)}/policy-rc.d-`), 'kept') : undefined;
try {
  if (aside) renameSync(POLICY, aside);
  writeFileSync(POLICY, '#!/bin/sh\nexit 101\n');
  chmodSync(POLICY, 0o755);
  aptGet('update');
  aptGet('install', '-y', '--no-install-recommends', ...packages);
  // Only services that have just come are switched off, not those that the machine had before.
  const services = PROGRAMS.filter((program) => packages.includes(program.package)).flatMap((each) => each.services);
  for (const service of services) switchOff(service);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  rmSync(POLICY, { force: true });
  if (aside) {
    renameSync(aside, POLICY);
    rmSync(dirname(aside), { recursive: true });
  }
}

function aptGet(...args) {
  const options = ['-qq', '-o', 'DPkg::Lock::Timeout=300', '-o', 'Dpkg::Use-Pty=0'];
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const { status, signal, error } = spawnSync('apt-get', [...options, ...args], { stdio: 'inherit', env });
  if (status !== 0) throw new Error(`apt-get ${args[0]} ended with ${error?.message ?? signal ?? status}.`);
}

function switchOff(service) {
  // Where there is no systemd, or no init script, there is nothing to switch off.
  spawnSync('deb-systemd-helper', ['disable', `${service}.service`], { stdio: 'ignore' });
  if (existsSync(`/etc/init.d/${service}`)) spawnSync('update-rc.d', [service, 'disable'], { stdio: 'ignore' });
}
