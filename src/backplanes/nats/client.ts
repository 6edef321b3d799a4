import { createRequire } from 'node:module';
import { requirePackages } from '../../compat/optional-packages.js';

/** The client library. It is an optional dependency: only servers that use NATS load it. */
const PACKAGE = '@nats-io/transport-node';

export type NatsClient = typeof import('@nats-io/transport-node');

const require = createRequire(import.meta.url);

export function loadNatsClient(): NatsClient {
  return require(PACKAGE) as NatsClient;
}

/**
 * Checks that the client library is installed.
 * @throws GjallarError BAD_CONFIG with the command that installs it
 */
export function requireNatsClient(): void {
  requirePackages('BUS=nats', [PACKAGE]);
}
