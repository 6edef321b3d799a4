import { isInstalled, missingPackages, optionalPackage } from '../../compat/optional-packages.js';

const NAME = 'prom-client';
let loaded: typeof import('prom-client') | undefined;

/** Whether there are metrics: users of the library install prom-client only if they want them. */
export const hasPromClient = isInstalled(NAME);

/**
 * Loads the package when it is used first: a worker starts faster without it.
 * @throws GjallarError BAD_CONFIG if prom-client is not installed
 */
export function promClient(): typeof import('prom-client') {
  loaded ??= optionalPackage<typeof import('prom-client')>(NAME);
  if (!loaded) throw missingPackages('/metrics', [NAME]);
  return loaded;
}
