import { unknownVariables } from '../../config/unknown-variables.js';
import { GjallarError } from '../../errors.js';
import type { Command } from '../command.js';
import { type Finding, ok, warn } from './finding.js';
import { checkMachine } from './machine.js';
import { checkNats } from './nats.js';
import { checkCertificate, checkKeys, checkPorts } from './network.js';
import { checkReach } from './reach.js';
import { checkRedis } from './redis.js';
import { checkArchive, checkDataDir } from './storage.js';

/**
 * `gjallar doctor`. Exit codes: 0 if the server can work, also with warnings; 1 if it cannot. A wrong value of a variable
 * is reported in one line before the checks, as at the start of the server.
 */
export const doctor: Command = {
  usage: '',
  description: 'Checks the configuration, limits, Redis, NATS, databases, clock and port, and says what to do.',
  help: () => 'Exit code: 0 if the server can work, also with warnings; 1 if it cannot.',
  async run(args, config, environment) {
    if (args[0]?.startsWith('--proxy'))
      throw new GjallarError('BAD_CONFIG', '--proxy was removed; use the files that docs/guide/placement.md names');
    if (args.length > 0)
      throw new GjallarError('BAD_CONFIG', 'usage: gjallar doctor. It takes no arguments; set variables instead');
    const findings: Finding[] = [
      ok('the configuration is valid'),
      ...unknownVariables(environment).map(({ name, meant }) =>
        warn(`the variable ${name} is unknown and has no effect. Did you mean ${meant}?`),
      ),
      ...checkMachine(config),
      ...(await checkPorts(config)),
      ...(await checkReach(config)),
      ...checkCertificate(config),
      ...(await checkKeys(config)),
      ...checkDataDir(config),
      ...(await checkRedis(config)),
      ...(await checkNats(config)),
      ...(await checkArchive(config)),
    ];
    for (const { level, message } of findings) console.log(`${level.padEnd(4)}  ${message}`);
    return findings.some(({ level }) => level === 'fail') ? 1 : 0;
  },
};
