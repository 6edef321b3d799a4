import { accessSync, constants } from 'node:fs';
import { GjallarError } from '../errors.js';
import { type Config, type OptionSpec, options } from './options.js';

/**
 * Reads the configuration from the environment.
 * @throws GjallarError BAD_CONFIG with one line that names the variable and what it accepts
 */
export function loadConfig(environment: Record<string, string | undefined>): Config {
  const entries = Object.entries(options as Record<string, OptionSpec<unknown>>).map(([key, spec]) => {
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
  return new GjallarError('BAD_CONFIG', `${spec.name} must be ${spec.accepts}, not "${given ?? ''}"`);
}

/** What no option can check by itself. */
function checkTogether(config: Config): void {
  if (config.bus === 'redis' && !config.redisUrl) {
    throw new GjallarError('BAD_CONFIG', 'BUS=redis needs REDIS_URL');
  }
  if (!config.tlsKey !== !config.tlsCert) {
    throw new GjallarError('BAD_CONFIG', 'TLS_KEY and TLS_CERT must be set together');
  }
  for (const [spec, path] of [
    [options.tlsKey, config.tlsKey],
    [options.tlsCert, config.tlsCert],
  ] as const) {
    if (path && !isReadable(path)) throw bad(spec, path);
  }
}

function isReadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}
