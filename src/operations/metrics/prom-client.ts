import { optionalPackage, packageError, requirePackages } from '../../compat/optional-packages.js';

const NAME = 'prom-client';
let loaded: typeof import('prom-client') | undefined;

/** Why there are no metrics, if there are none: users of the library install prom-client only if they want them. */
export const noMetrics: string | undefined = packageError('/metrics', [NAME])?.message;

/**
 * Loads the package when it is used first: a worker starts faster without it.
 * @throws GjallarError BAD_CONFIG if prom-client is not installed, or does not work
 */
export function promClient(): typeof import('prom-client') {
  if (!loaded) requirePackages('/metrics', [NAME]);
  loaded ??= optionalPackage<typeof import('prom-client')>(NAME);
  return loaded!;
}
