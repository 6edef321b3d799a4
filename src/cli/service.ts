import cluster from 'node:cluster';
import type { Logger } from 'pino';
import { logGreeting } from '../base/log.js';
import { requirePackages } from '../base/optional-packages.js';
import { leaveOtherBuild } from '../cluster/wire-number.js';
import { isUnlimited, limitsOf } from '../host/config/limits.js';
import { loadConfig } from '../host/config/load.js';
import type { Config } from '../host/config/options.js';
import { servicePackages } from '../host/config/packages.js';
import { forkedSurroundings, holdSignals } from '../host/runtime/surroundings.js';
import { checkVersion, installedCopy } from '../io/socket-io-version.js';
import { youngGeneration } from './application-arguments.js';
import type { Started } from './primary.js';

/** `gjallar` without a sub-command: the chat service. */
export async function runService(version: string): Promise<void> {
  leaveOtherBuild(process.env);
  const config = loadConfig(process.env);
  checkVersion(installedCopy());
  requirePackages('the chat service', servicePackages(config));
  if (!cluster.isPrimary) {
    holdSignals();
    const { chatApplication } = await import('../service/chat/application.js');
    const { startWorker } = await import('../host/runtime/worker.js');
    return (await startWorker(config, chatApplication(config), forkedSurroundings())).stopped;
  }
  const { runPrimary } = await import('./primary.js');
  const { host, port } = config;
  return runPrimary(config, {
    address: { host, port },
    nodeFlags: youngGeneration(process.env),
    started: (facts) => {
      adviseOn(config, facts.log);
      greet(config, facts, version);
    },
  });
}

function greet({ host, tlsKey, workers }: Config, { addresses: [address], bus, log }: Started, version: string): void {
  const scheme = tlsKey ? 'https' : 'http';
  const shown = ['0.0.0.0', '::'].includes(host) ? 'localhost' : host.includes(':') ? `[${host}]` : host;
  const count = `${workers} ${workers === 1 ? 'worker' : 'workers'}`;
  const { port } = address!;
  const url = `${scheme}://${shown}:${port}`;
  const greeting = `gjallar listens on ${url} with ${count} on the ${bus} bus`;
  logGreeting(log, { version, url, port, workers, backplane: bus }, greeting);
}

function adviseOn(config: Config, log: Logger): void {
  if (!config.jwtSecret && !config.jwksUrl) {
    log.info('users choose their own names, without proof; to require tokens, set JWT_SECRET or JWKS_URL');
  } else if (config.jwtSecret && Buffer.byteLength(config.jwtSecret) < 32) {
    log.warn('JWT_SECRET is shorter than 32 bytes and could be guessed; set a longer one (RFC 7518, section 3.2)');
  }
  const unchecked = [!config.jwtIssuer && 'JWT_ISSUER', !config.jwtAudience && 'JWT_AUDIENCE'].filter(Boolean);
  if (config.jwksUrl && unchecked.length > 0) {
    log.warn(
      `set ${unchecked.join(' and ')}; with JWKS_URL alone, tokens that the provider issued for other applications are accepted`,
    );
  }
  if (!config.adminUser)
    log.info('/metrics and /api/stats are public; to protect them, set ADMIN_USER and ADMIN_PASSWORD');
  else if (config.adminPort === undefined) log.info('the page /admin is off; to turn it on, set ADMIN_PORT');
  log.debug(limitsOf(config), 'limits of each client and address; the variables of these names change them');
  if (isUnlimited(config)) {
    log.info('clients and addresses have no limits; to set them, use RATE_LIMIT and MAX_CONNECTIONS_PER_IP');
  }
}
