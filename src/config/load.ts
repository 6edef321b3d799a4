import { readFileSync } from 'node:fs';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { GjallarError } from '../errors.js';
import { allOptions, type Config, type OptionSpec, options } from './options.js';

/**
 * Reads the configuration from the environment.
 * @throws GjallarError BAD_CONFIG with one line that names the variable and what it accepts
 */
export function loadConfig(environment: Record<string, string | undefined>): Config {
  const entries = Object.entries(allOptions).map(([key, spec]) => {
    // An empty variable is what an unset one looks like in a compose file.
    const given = environment[spec.name]?.trim() || undefined;
    const parsed = spec.schema.safeParse(given);
    if (!parsed.success) throw bad(spec, given);
    return [key, parsed.data];
  });
  const config = Object.freeze(Object.fromEntries(entries)) as Config;
  checkTogether(config);
  return config;
}

function bad(spec: OptionSpec<unknown>, given: string | undefined): GjallarError {
  const what = spec.isSecret ? '; the value may be a secret, and is not shown' : `, not "${given ?? ''}"`;
  return new GjallarError('BAD_CONFIG', `${spec.name} must be ${spec.accepts}${what}`);
}

/** What no option can check by itself. */
function checkTogether(config: Config): void {
  const { bus, redisUrl } = config;
  if (bus.startsWith('redis') && !redisUrl) throw new GjallarError('BAD_CONFIG', `BUS=${bus} needs REDIS_URL`);
  if (redisUrl?.includes(',') && bus !== 'redis-sharded') {
    throw new GjallarError('BAD_CONFIG', 'several nodes in REDIS_URL need BUS=redis-sharded');
  }
  if (config.archiveUrl && config.historyTtl === 0) {
    throw new GjallarError('BAD_CONFIG', 'ARCHIVE_URL needs a history: HISTORY_TTL must not be 0');
  }
  if (config.jwtSecret && config.jwksUrl) {
    throw new GjallarError('BAD_CONFIG', 'JWT_SECRET and JWKS_URL cannot be set together');
  }
  if ((config.jwtIssuer || config.jwtAudience) && !config.jwtSecret && !config.jwksUrl) {
    throw new GjallarError('BAD_CONFIG', 'JWT_ISSUER and JWT_AUDIENCE need JWT_SECRET or JWKS_URL');
  }
  if (!config.adminUser !== !config.adminPassword) {
    throw new GjallarError('BAD_CONFIG', 'ADMIN_USER and ADMIN_PASSWORD must be set together');
  }
  if (!config.tlsKey !== !config.tlsCert) {
    throw new GjallarError('BAD_CONFIG', 'TLS_KEY and TLS_CERT must be set together');
  }
  if (config.tlsKey && config.tlsCert) checkTls(config.tlsKey, config.tlsCert);
}

/** A worker could not say what is wrong with them: uWebSockets.js tells only that it cannot use them. */
function checkTls(keyFile: string, certFile: string): void {
  const key = readFor(options.tlsKey, keyFile);
  const cert = readFor(options.tlsCert, certFile);
  if (!isContext({ key })) throw bad(options.tlsKey, keyFile);
  if (!isContext({ cert })) throw bad(options.tlsCert, certFile);
  if (!isContext({ key, cert })) {
    throw new GjallarError('BAD_CONFIG', 'TLS_KEY must be the key of the certificate in TLS_CERT');
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
