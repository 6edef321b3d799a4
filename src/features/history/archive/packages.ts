import type { OptionalPackage } from '../../../base/optional-packages.js';

export type Dialect = 'postgres' | 'mysql';

/** The kind of database that an `ARCHIVE_URL` names; undefined if there is no driver for it. */
export function dialectOf(url: string): Dialect | undefined {
  if (/^postgres(ql)?:/.test(url)) return 'postgres';
  return /^(mysql|mariadb):/.test(url) ? 'mysql' : undefined;
}

export const drivers: Readonly<Record<Dialect, OptionalPackage>> = { postgres: 'pg', mysql: 'mysql2' };

/** The packages that an archive at this URL needs. */
export function packagesOf(url: string): OptionalPackage[] {
  const dialect = dialectOf(url);
  return dialect ? ['knex', drivers[dialect]] : [];
}
