import { missingPackages, optionalPackage } from '../../compat/optional-packages.js';

const loaded = optionalPackage<typeof import('prom-client')>('prom-client');

/** Whether there are metrics: users of the library install prom-client only if they want them. */
export const hasPromClient = loaded !== undefined;

/** @throws GjallarError BAD_CONFIG if prom-client is not installed */
export function promClient(): typeof import('prom-client') {
  if (!loaded) throw missingPackages('/metrics', ['prom-client']);
  return loaded;
}
