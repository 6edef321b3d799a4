import { parseArgs } from 'node:util';
import { FIRST_WORKER_PORT } from '../../../config/load.js';
import type { Config } from '../../../config/options.js';
import { PLACE_NAME, RESERVED_PARAMETERS } from '../../../config/values.js';
import { GjallarError } from '../../../errors.js';
import { addressesIn } from './addresses.js';

const PROXY_USAGE =
  'usage: gjallar doctor --proxy haproxy|nginx|envoy [--place NAME] [--addresses HOST:PORT-PORT,…] [--check PATH] ' +
  '[--hash-balance-factor PERCENT] [--place-max CLIENTS]';

/** What the configuration of a proxy is made from. */
export interface ProxyRequest {
  readonly proxy: string;
  /** The query parameter that clients are placed by. */
  readonly place: string;
  /** The workers, as host and port. */
  readonly addresses: readonly string[];
  /** The path that health checks request; undefined if they only connect. */
  readonly check: string | undefined;
  /** How far a worker may be above the average load, in percent of it, before clients go to the next one. */
  readonly balanceFactor: number | undefined;
  /** How many WebSockets of a key a worker gets before further ones go to the next worker; undefined for no bound. */
  readonly placeMax: number | undefined;
}

/**
 * Reads the arguments. By default, the workers are those of this machine.
 * @param proxies the names of the known proxies
 * @throws GjallarError BAD_CONFIG
 */
export function readProxyRequest(args: readonly string[], config: Config, proxies: readonly string[]): ProxyRequest {
  const given = valuesOf(args);
  const { proxy = '' } = given;
  if (!proxies.includes(proxy)) throw new GjallarError('BAD_CONFIG', PROXY_USAGE);
  const { place = config.place ?? '' } = given;
  if (!PLACE_NAME.test(place)) {
    throw new GjallarError(
      'BAD_CONFIG',
      `--place must be the query parameter that names the room: 1 to 64 letters, digits and underscores, but none of ${RESERVED_PARAMETERS.join(', ')}; by default, PLACE`,
    );
  }
  const addresses = addressesIn(given.addresses ?? addressesHere(config));
  if (!addresses) {
    throw new GjallarError('BAD_CONFIG', '--addresses must be such as 10.0.0.1:3001-3004,10.0.0.2:3001-3004');
  }
  const { check } = given;
  if (check !== undefined && !/^\/[\w./-]*$/.test(check)) {
    throw new GjallarError('BAD_CONFIG', '--check must be a path, such as /readyz');
  }
  const balanceFactor = factorOf(given['hash-balance-factor']);
  const placeMax = placeMaxOf(given['place-max']);
  if (balanceFactor !== undefined && placeMax !== undefined) {
    throw new GjallarError('BAD_CONFIG', 'both pass clients on; leave out --hash-balance-factor or --place-max');
  }
  return { proxy, place, addresses, check, balanceFactor, placeMax };
}

function valuesOf(args: readonly string[]) {
  const text = { type: 'string' } as const;
  const options = {
    proxy: text,
    place: text,
    addresses: text,
    check: text,
    'hash-balance-factor': text,
    'place-max': text,
  };
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch {
    throw new GjallarError('BAD_CONFIG', PROXY_USAGE);
  }
}

/** As `gjallar run --place` has them, which sets no variable. */
function addressesHere({ workerPorts = FIRST_WORKER_PORT, workers }: Config): string {
  return `127.0.0.1:${workerPorts}-${workerPorts + workers - 1}`;
}

function factorOf(given: string | undefined): number | undefined {
  if (given === undefined) return undefined;
  const factor = /^\d{3,5}$/.test(given) ? Number(given) : 0;
  if (factor > 100 && factor <= 65_535) return factor;
  throw new GjallarError('BAD_CONFIG', '--hash-balance-factor must be an integer from 101 to 65535, such as 150');
}

function placeMaxOf(given: string | undefined): number | undefined {
  if (given === undefined) return undefined;
  if (/^[1-9]\d{0,6}$/.test(given)) return Number(given);
  throw new GjallarError('BAD_CONFIG', '--place-max must be an integer from 1 to 9999999, such as 1000');
}
