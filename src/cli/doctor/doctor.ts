import { accessSync, constants, existsSync, readFileSync, statfsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { GjallarError } from '../../base/errors.js';
import { packageError } from '../../base/optional-packages.js';
import type { Problem } from '../../base/problems.js';
import { memoryLimit, processorLimit } from '../../base/system-limits.js';
import { backplaneKindOf, backplaneNameOf } from '../../cluster/backplanes/index.js';
import { splitUrls } from '../../cluster/backplanes/redis/address.js';
import { movesConnections, SharedPorts } from '../../cluster/primary/ports.js';
import { socketsInUse } from '../../engine/uws/uws.js';
import { connect } from '../../features/history/archive/database.js';
import { descriptorLimit } from '../../host/config/limits.js';
import { loadConfig, loadRunConfig } from '../../host/config/load.js';
import type { Config } from '../../host/config/options.js';
import { servicePackages } from '../../host/config/packages.js';
import { unknownVariables } from '../../host/config/unknown.js';
import type { Command, Environment } from '../commands.js';
import { checkNats, checkRedis } from './brokers.js';
import { Findings, reasonOf } from './findings.js';

const MIB = 2 ** 20;
const LEAST = { backlog: 4096, memoryOfWorker: 256 * MIB, diskFree: 1024 * MIB };
const getJson = async (url: string) => (await fetch(url, { signal: AbortSignal.timeout(3000) })).json();

/**
 * `gjallar doctor`: tries to open what a server would open. Exit codes: 0 if the server can work, also with warnings; 1 if
 * it cannot. A wrong value of a variable is reported in one line before, as at the start of the server.
 */
export const doctor: Command = {
  usage: '[run]',
  description: 'Checks limits, ports, Redis and NATS of the chat service or of gjallar run, and says what to do.',
  help: () => 'Exit code: 0 if the server can work, also with warnings; 1 if it cannot.',
  isForApplications: true,
  async run(args, _config, environment) {
    const isForRun = args[0] === 'run';
    if (args.length > (isForRun ? 1 : 0))
      throw new GjallarError('BAD_CONFIG', 'usage: gjallar doctor [run]. Set variables instead of options');
    const config = isForRun ? runConfigOf(environment) : loadConfig(environment);
    const found = new Findings();
    found.ok('the configuration is valid');
    for (const { name, meant } of unknownVariables(environment, isForRun)) {
      found.warn(`the variable ${name} is unknown and has no effect. Did you mean ${meant}?`);
    }
    const lacking = isForRun ? undefined : packageError('the chat service', servicePackages(config));
    if (lacking) found.fail(`${lacking.message}. For an application of your own, run gjallar doctor run`);
    checkMachine(found, config.workers);
    // A running server reports itself what it cannot use.
    if (!(await checkRunning(found, config))) {
      await checkPorts(found, config);
      checkDataDir(found, config);
    }
    const { jwksUrl, redisUrl, natsUrl, archiveUrl } = config;
    if (jwksUrl) {
      const use = async () => `JWKS_URL has ${((await getJson(jwksUrl)) as { keys: unknown[] }).keys.length} keys`;
      await found.attempt(use, 'JWKS_URL cannot be read', 'Check the URL: tokens cannot be checked.');
    }
    for (const url of redisUrl ? splitUrls(redisUrl) : []) await checkRedis(found, url, config);
    const usesNats = natsUrl !== undefined && backplaneKindOf(backplaneNameOf(config)).server === 'NATS';
    if (usesNats) await checkNats(found, config);
    if (archiveUrl && !lacking) {
      const { knex } = connect(archiveUrl);
      const use = () =>
        knex
          .raw('SELECT 1')
          .timeout(5000)
          .then(() => 'the database of ARCHIVE_URL answers');
      await found.attempt(
        use,
        'the database of ARCHIVE_URL cannot be used',
        'Check the URL and the database.',
        'ARCHIVE_FAILS',
      );
      await knex.destroy();
    }
    console.log(found.lines.join('\n'));
    return found.lines.some((line) => line.startsWith('fail')) ? 1 : 0;
  },
};

/** `gjallar run` opens neither PORT nor DATA_DIR: these names are the application's. */
function runConfigOf(environment: Environment): Config {
  return { ...loadConfig({}), historyTtl: 0, port: 0, ...loadRunConfig(environment) };
}

/** The limits of the machine or container. */
function checkMachine(found: Findings, workers: number): void {
  const { kind, source, reason, remedy, warning } = socketsInUse;
  const sockets = kind === 'native' ? `the sockets are native: ${source}` : `the sockets are portable: ${reason}`;
  found.check(!warning, warning ?? sockets, `To have native ones, ${remedy}.`);
  const limit = descriptorLimit(workers);
  const holds = `each worker may hold ${limit?.max ?? 'an unknown number of'} file descriptors, one per connection`;
  const raise = 'raise the limit (ulimit -n, or LimitNOFILE of systemd).';
  if (!limit?.isTooSmall) found.check(!limit?.isLow, holds, `For more clients, ${raise}`);
  else found.fail(`${holds}; it accepts ${limit.connections} connections at most. To have more, ${raise}`);
  const backlog = backlogLimit();
  const dropped = 'Bursts of new connections are dropped. Run: sysctl net.core.somaxconn=4096';
  found.check(backlog >= LEAST.backlog, `net.core.somaxconn is ${backlog}`, dropped);
  const isMoving = movesConnections();
  const reset = 'A reload may reset connections that are being established. Run: sysctl net.ipv4.tcp_migrate_req=1';
  found.check(isMoving, `net.ipv4.tcp_migrate_req is ${isMoving ? '1' : 'not 1'}`, reset);
  const memory = memoryLimit();
  const isEnough = memory / workers >= LEAST.memoryOfWorker;
  const bytes = `${Math.round(memory / MIB)} MiB of memory for ${workers} workers`;
  found.check(isEnough, bytes, 'This is little. Set WORKERS lower, or raise the memory limit.');
  // A container may have less time than the machine has processors.
  const processors = processorLimit();
  const each = `${workers} workers on ${Math.round(processors * 10) / 10} processors`;
  found.check(workers <= Math.ceil(processors), each, 'Set WORKERS to the number of processors.');
}

/** NaN where it is unknown. */
function backlogLimit(): number {
  try {
    return Number(readFileSync('/proc/sys/net/core/somaxconn', 'utf8'));
  } catch {
    return Number.NaN;
  }
}

/** Whether the server runs already. Its problems are listed. */
async function checkRunning(found: Findings, config: Config): Promise<boolean> {
  const { host, port, tlsKey, adminHost, adminPort } = config;
  // The code of an application may fix a port other than PORT. With TLS, the certificate is not for the loopback interface.
  const ports = [[adminHost, adminPort ?? 0, 'ADMIN_PORT'] as const, [host, tlsKey ? 0 : port, 'PORT'] as const];
  for (const [at, number, variable] of ports.filter(([, given]) => given > 0)) {
    const name = at === '0.0.0.0' ? '127.0.0.1' : at === '::' ? '[::1]' : at.includes(':') ? `[${at}]` : at;
    type Readiness = { state: string; problems: Problem[] } | undefined;
    const answer = (await getJson(`http://${name}:${number}/readyz`).catch(() => undefined)) as Readiness;
    if (!Array.isArray(answer?.problems)) continue;
    found.ok(`a server answers at ${variable}=${number}`);
    if (['draining', 'not ready'].includes(answer.state)) found.fail(`it is ${answer.state}`);
    for (const { code, text, remedy } of answer.problems) found.fail(`it reports: ${text}. ${remedy}`, code);
    return true;
  }
  return false;
}

/** The ports that the server would listen on. */
async function checkPorts(found: Findings, config: Config): Promise<void> {
  const { host, port, adminHost, adminPort } = config;
  const ports: [host: string, port: number, name: string][] = [[host, port, `PORT=${port} at HOST=${host}`]];
  if (adminPort) ports.push([adminHost, adminPort, `ADMIN_PORT=${adminPort}`]);
  for (const [at, number, name] of ports.filter(([, given]) => given > 0)) {
    const { failure } = await new SharedPorts().claim({ host: at, port: number, turn: 0 });
    if (failure) found.fail(`cannot listen on ${name}: ${failure.message}. Set another ${name.split('=')[0]}.`);
    else found.ok(`port ${number} is free (${name})`);
  }
}

/** The folder of the history. */
function checkDataDir(found: Findings, { dataDir, historyTtl, redisUrl }: Config): void {
  if (historyTtl === 0 || redisUrl) return;
  const path = resolve(dataDir);
  let folder = path;
  while (!existsSync(folder)) folder = dirname(folder);
  try {
    // With a slash, a file is none.
    accessSync(`${folder}/`, constants.W_OK | constants.X_OK);
    const { bavail, bsize } = statfsSync(folder);
    const free = `DATA_DIR "${path}" has ${Math.round((bavail * bsize) / MIB)} MiB free`;
    found.check(bavail * bsize >= LEAST.diskFree, free, 'Free some space: a full disk rejects messages.');
  } catch (error) {
    found.fail(
      `DATA_DIR "${path}" cannot be written to: ${reasonOf(error)}. Change its owner or rights.`,
      'STORE_FAILS',
    );
  }
}
