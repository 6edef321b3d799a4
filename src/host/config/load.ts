import { readFileSync } from 'node:fs';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { GjallarError } from '../../base/errors.js';
import { requirePackages } from '../../base/optional-packages.js';
import { backplaneKindOf, backplaneNameOf } from '../../cluster/backplanes/index.js';
import { isList } from '../../cluster/backplanes/redis/address.js';
import {
  allOptions,
  type Config,
  type OptionSpec,
  options,
  type RunConfig,
  runOptions,
  VARIABLE_PREFIX,
} from './options.js';
import { checkServicePorts } from './ports.js';

/**
 * Reads the configuration from the environment.
 * @throws GjallarError BAD_CONFIG with one line that names the variable and the values it accepts
 */
export function loadConfig(environment: Environment): Config {
  const config = Object.freeze(withRoomForPayload(parse(allOptions, environment) as Config, environment));
  checkBus(config, allOptions);
  checkAdmin(config);
  checkService(config);
  return config;
}

/**
 * Reads the part of the configuration that applies to every application. An application may use the names of the chat
 * service's variables for its own purposes.
 * @throws GjallarError BAD_CONFIG with one line that names the variable and the values it accepts
 */
export function loadRunConfig(environment: Environment): RunConfig {
  const parsed = withRoomForPayload(parse(runOptions, environment) as RunConfig, environment);
  const config = Object.freeze({ ...parsed, variablePrefix: VARIABLE_PREFIX });
  checkBus(config, runOptions);
  checkAdmin(config);
  return config;
}

type Environment = Readonly<Record<string, string | undefined>>;

type Specs = typeof allOptions;

function parse(specs: Specs, environment: Environment): object {
  const entries = Object.entries(specs).map(([key, spec]) => {
    // A compose file passes an unset variable as an empty one.
    const given = environment[spec.name]?.trim() || secretFrom(spec, environment);
    const value = given === undefined ? spec.fallback : spec.kind.read(given);
    if (given !== undefined && value === undefined) throw bad(spec, given);
    return [key, value];
  });
  return Object.fromEntries(entries);
}

/** A secret may be in a file that the variable `<NAME>_FILE` names, as container platforms provide it. */
function secretFrom(
  { name, isSecret }: OptionSpec<unknown>,
  environment: Record<string, string | undefined>,
): string | undefined {
  const path = isSecret ? environment[`${name}_FILE`]?.trim() : undefined;
  if (!path) return undefined;
  let secret: string;
  try {
    secret = readFileSync(path, 'utf8').trim();
  } catch (error) {
    throw new GjallarError('BAD_CONFIG', `${name}_FILE must name a readable file: ${(error as Error).message}`);
  }
  // Without its secret, the server would be open to everybody.
  if (!secret) throw new GjallarError('BAD_CONFIG', `${name}_FILE must name a file with a value: ${path} is empty`);
  return secret;
}

/** The default for the bytes of a client leaves room for a few of the longest messages that are allowed. */
function withRoomForPayload<T extends RunConfig>(config: T, { RATE_LIMIT: given }: Environment): T {
  const { bytes } = config.rateLimit;
  if (given || !bytes) return config;
  const amount = Math.max(bytes.amount, 4 * config.maxPayload);
  return { ...config, rateLimit: { ...config.rateLimit, bytes: { ...bytes, amount } } };
}

function bad(spec: OptionSpec<unknown>, given: string | undefined): GjallarError {
  const what = spec.isSecret ? ' (its value is hidden because it may contain a secret)' : `, not "${given ?? ''}"`;
  return new GjallarError('BAD_CONFIG', `${spec.name} must be ${spec.accepts}${what}`);
}

function checkBus(config: RunConfig, specs: Specs): void {
  const { bus, redisUrl } = config;
  const { name: url } = specs.redisUrl!;
  const name = backplaneNameOf(config);
  const { server, isClassic } = backplaneKindOf(name);
  if (server === 'Redis' && !redisUrl) {
    throw new GjallarError('BAD_CONFIG', `BUS=${bus} requires ${url}; set it, or use BUS=embedded`);
  }
  if (redisUrl && isList(redisUrl) && isClassic) {
    throw new GjallarError(
      'BAD_CONFIG',
      `${url} lists several nodes, which BUS=${bus} does not use; set BUS=redis-frames, or list one node`,
    );
  }
  checkNats(config, server === 'NATS', specs);
}

function checkNats({ bus, natsUrl, natsCreds }: RunConfig, isUsed: boolean, specs: Specs): void {
  const [url, creds] = [specs.natsUrl!.name, specs.natsCreds!.name];
  if (isUsed && !natsUrl) {
    throw new GjallarError('BAD_CONFIG', `BUS=nats requires ${url}; set it, or use BUS=embedded`);
  }
  if (natsUrl && !isUsed) {
    throw new GjallarError('BAD_CONFIG', `BUS=${bus} does not use ${url}; unset it, or use BUS=nats`);
  }
  if (natsCreds && !natsUrl) {
    throw new GjallarError('BAD_CONFIG', `${creds} requires ${url}; set it, or unset ${creds}`);
  }
  if (natsCreds && /@/.test(natsUrl!)) {
    throw new GjallarError(
      'BAD_CONFIG',
      `${creds} and a user or token in ${url} cannot be set together; remove one of them`,
    );
  }
  if (isUsed) requirePackages('BUS=nats', ['gjallar-nats']);
}

function checkAdmin({ adminUser, adminPassword }: RunConfig): void {
  if (!adminUser !== !adminPassword) {
    throw new GjallarError('BAD_CONFIG', 'ADMIN_USER and ADMIN_PASSWORD must be set together; set the missing one');
  }
}

/** Checks options of the chat service that depend on each other. */
function checkService(config: Config): void {
  checkServicePorts(config);
  checkHistoryStore(config);
  if (config.archiveUrl && config.historyTtl === 0) {
    throw new GjallarError('BAD_CONFIG', 'ARCHIVE_URL requires a history; set HISTORY_TTL to more than 0');
  }
  if (config.jwtSecret && config.jwksUrl) {
    throw new GjallarError('BAD_CONFIG', 'JWT_SECRET and JWKS_URL cannot be set together; unset one of them');
  }
  if ((config.jwtIssuer || config.jwtAudience) && !config.jwtSecret && !config.jwksUrl) {
    throw new GjallarError('BAD_CONFIG', 'JWT_ISSUER and JWT_AUDIENCE require JWT_SECRET or JWKS_URL; set one of them');
  }
  if (!config.tlsKey !== !config.tlsCert) {
    throw new GjallarError('BAD_CONFIG', 'TLS_KEY and TLS_CERT must be set together; set the missing one');
  }
  if (config.tlsKey && config.tlsCert) checkTls(config.tlsKey, config.tlsCert);
}

/** Rooms that span machines need a history that does, too: the machines would count messages apart. */
function checkHistoryStore(config: Config): void {
  const { redisUrl, historyTtl } = config;
  const name = backplaneNameOf(config);
  if (historyTtl === 0 || !backplaneKindOf(name).hub) return;
  if (!redisUrl) {
    throw new GjallarError(
      'BAD_CONFIG',
      `BUS=${name} joins several machines, whose history must be in Redis; set REDIS_URL too, or HISTORY_TTL=0`,
    );
  }
}

/** Checked here because uWebSockets.js reports only that it cannot use the files, not why. */
function checkTls(keyFile: string, certFile: string): void {
  const key = readFor(options.tlsKey, keyFile);
  const cert = readFor(options.tlsCert, certFile);
  if (!isContext({ key })) throw bad(options.tlsKey, keyFile);
  if (!isContext({ cert })) throw bad(options.tlsCert, certFile);
  if (!isContext({ key, cert })) {
    throw new GjallarError(
      'BAD_CONFIG',
      'TLS_KEY does not match the certificate in TLS_CERT; set it to the private key of that certificate',
    );
  }
}

function readFor(spec: OptionSpec<unknown>, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch {
    throw bad(spec, path);
  }
}

function isContext(options: SecureContextOptions): boolean {
  try {
    createSecureContext(options);
    return true;
  } catch {
    return false;
  }
}
