import type { OptionalPackage } from '../../base/optional-packages.js';
import { packagesOf } from '../../features/history/archive/packages.js';
import type { Config } from './options.js';

/** The optional packages that the chat service needs. */
export function servicePackages({ historyTtl, redisUrl, archiveUrl }: Config): OptionalPackage[] {
  const usesSqlite = historyTtl > 0 && !redisUrl;
  return ['jose', ...(usesSqlite ? (['libsql'] as const) : []), ...(archiveUrl ? packagesOf(archiveUrl) : [])];
}
