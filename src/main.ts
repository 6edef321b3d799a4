#!/usr/bin/env node
import cluster from 'node:cluster';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { chatApplication } from './chat/application.js';
import { commands } from './cli/commands.js';
import { Primary } from './cluster/primary/primary.js';
import { isUnlimited, limitsOf } from './config/limits.js';
import { loadConfig } from './config/load.js';
import { allOptions, type Config } from './config/options.js';
import { unknownVariables } from './config/unknown-variables.js';
import { GjallarError } from './errors.js';
import { createLog } from './log.js';
import { chooseBackplane } from './runtime/redis-client.js';
import { runWorker } from './runtime/worker.js';

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

/**
 * V8's semi-space is set to 2 MiB instead of 16. The objects of a connection live long, so a large young generation
 * mostly wastes memory, and saves no copying.
 */
const SEMI_SPACE = '--max-semi-space-size';

try {
  await main();
} catch (error) {
  if (!(error instanceof GjallarError)) throw error;
  console.error(`gjallar: ${error.message}`);
  process.exit(1);
}

async function main(): Promise<void> {
  const [name = '', ...args] = process.argv.slice(2);
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command) {
    process.exitCode = await command.run(args, loadConfig(process.env), process.env);
    return;
  }
  const { help, version: isVersion } = readArguments();
  if (help) return console.log(helpText());
  if (isVersion) return console.log(version);
  const config = loadConfig(process.env);
  // Ctrl-C in a terminal reaches every process, but only the primary reacts to it.
  if (cluster.isPrimary) return runPrimary(config);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2'] as const) process.on(signal, () => {});
  return runWorker(config, version, chatApplication(config));
}

function readArguments() {
  try {
    const options = { help: { type: 'boolean', short: 'h' }, version: { type: 'boolean', short: 'v' } } as const;
    return parseArgs({ options }).values;
  } catch (error) {
    throw new GjallarError(
      'BAD_CONFIG',
      `${(error as Error).message.split('.')[0]}; run gjallar --help for the options`,
    );
  }
}

async function runPrimary(config: Config): Promise<void> {
  const log = createLog(config.logLevel, { process: 'primary' });
  const { workers, host, drainTimeout } = config;
  // Flags on the command line override NODE_OPTIONS, so the user's choice must be left out.
  const nodeFlags = process.env.NODE_OPTIONS?.includes(SEMI_SPACE) ? [] : [`${SEMI_SPACE}=2`];
  const primary = new Primary({ workers, host, port: config.port, drainTimeout, nodeFlags, log });
  const hadTerminal = hasTerminal();
  let stopping: Promise<void> | undefined;
  const stop = (code: number) => {
    stopping ??= primary.stop().then(() => process.exit(code));
    return stopping;
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (stopping) primary.stopNow();
      else void stop(0);
    });
  }
  // A closing terminal sends the same signal as a request to reload.
  process.on('SIGHUP', () => void (hadTerminal && !hasTerminal() ? stop(0) : primary.reload()));
  process.on('SIGUSR2', () => primary.leave());
  try {
    const bus = await chooseBackplane(config, () => {
      log.warn('REDIS_URL names a node of a Redis Cluster: the workers are replaced, and use BUS=redis-sharded');
      process.env.BUS = 'redis-sharded';
      void primary.reload();
    });
    // The workers read their configuration from the environment.
    if (bus === 'redis-sharded') process.env.BUS = bus;
    const port = await primary.start();
    const scheme = config.tlsKey ? 'https' : 'http';
    const shown = ['0.0.0.0', '::'].includes(host) ? 'localhost' : host.includes(':') ? `[${host}]` : host;
    const count = `${workers} ${workers === 1 ? 'worker' : 'workers'}`;
    const url = `${scheme}://${shown}:${port}`;
    const greeting = `gjallar listens on ${url} with ${count} on the ${bus} bus`;
    // Whatever LOG_LEVEL is: it says that the start succeeded, and where.
    if (process.stdout.isTTY) console.log(greeting);
    else log.child({}, { level: 'info' }).info({ version, url, port, workers, backplane: bus }, greeting);
    for (const { name, meant } of unknownVariables(process.env)) {
      log.warn({ variable: name, meant }, `the variable ${name} is unknown and has no effect; did you mean ${meant}?`);
    }
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
    log.info(limitsOf(config), 'limits of each client and address; the variables of these names change them');
    if (isUnlimited(config)) {
      log.info('clients and addresses have no limits; to set them, use RATE_LIMIT and MAX_CONNECTIONS_PER_IP');
    }
    process.send?.('ready');
  } catch (error) {
    // Workers that are already running would keep the process alive.
    if (error instanceof GjallarError) console.error(`gjallar: ${error.message}`);
    else log.fatal({ error }, 'startup failed');
    await stop(1);
  }
}

function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'));
    return true;
  } catch {
    return false;
  }
}

/** The text of `gjallar --help`. */
function helpText(): string {
  const rows = Object.values(allOptions).map(
    (spec) => `  ${spec.name}\n      ${spec.description}\n      Accepts ${spec.accepts}. Default: ${spec.default}.`,
  );
  return `gjallar ${version}: a clustered Socket.IO server

Usage: gjallar [--help] [--version]

${Object.entries(commands)
  .map(([name, { usage, description }]) => `       gjallar ${`${name} ${usage}`.trim()}\n           ${description}`)
  .join('\n')}

Set these environment variables to configure the server. All of them are optional. A variable that holds a secret
may be replaced by one with the suffix _FILE, which names a file with the value.

${rows.join('\n')}
`;
}
