import { unknownVariables } from '../../config/unknown-variables.js';
import { GjallarError } from '../../errors.js';
import type { Command } from '../command.js';
import { type Finding, ok, warn } from './finding.js';
import { checkMachine } from './machine.js';
import { checkNats } from './nats.js';
import { checkCertificate, checkKeys, checkPorts } from './network.js';
import { proxyConfiguration } from './proxies/index.js';
import { checkReach } from './reach.js';
import { checkRedis } from './redis.js';
import { checkArchive, checkDataDir } from './storage.js';

/**
 * `gjallar doctor`. Exit codes: 0 if the server can work, also with warnings; 1 if it cannot. A wrong value of a variable
 * is reported in one line before the checks, as at the start of the server.
 */
export const doctor: Command = {
  usage: '[--proxy haproxy|nginx|envoy]',
  description:
    'Checks the configuration, limits, Redis, NATS, databases, clock and port, and says what to do.\n' +
    '           With --proxy, prints the configuration of a proxy that places the clients of a room on one worker.',
  help: `  --proxy NAME                   haproxy, nginx or envoy; the options below need it
  --place PARAMETER              query parameter that names the room; default: PLACE
  --addresses HOST:PORT-PORT,…   workers of all machines; default: those of this machine, by WORKER_PORTS and WORKERS
  --check PATH                   path that health checks request, such as /readyz; not for nginx
  --place-max CLIENTS            most WebSockets of a room on one worker; only for haproxy
  --hash-balance-factor PERCENT  most load of a worker, in percent of the average; not for nginx

Exit code: 0 if the server can work, also with warnings; 1 if it cannot.`,
  async run(args, config, environment) {
    if (args.some((arg) => arg.startsWith('--proxy'))) {
      process.stdout.write(proxyConfiguration(args, config));
      return 0;
    }
    if (args.length > 0)
      throw new GjallarError(
        'BAD_CONFIG',
        'usage: gjallar doctor [--proxy haproxy|nginx|envoy …]; --help lists the options of --proxy',
      );
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
