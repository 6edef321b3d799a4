/**
 * Packages that gjallar does not install by itself, because only some of its parts need them. An application may have any
 * version of them for itself, so package.json asks for none. The part that needs one checks its version when it is used.
 * deploy/service/package.json installs them in a clone and in the image.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { GjallarError } from './errors.js';
import { requireHere } from './package.js';

/** From a version up to the last one that begins with the numbers of `line`. */
export interface VersionRange {
  readonly from: string;
  readonly line: string;
}

/** The oldest version of each package that works, and the newest line of versions. */
export const supportedVersions = {
  // Parts of this repository: a release gives them the same version.
  'gjallar-compare': { from: '0.2.0', line: '0.2' },
  'gjallar-nats': { from: '0.2.0', line: '0.2' },
  jose: { from: '6.2.17', line: '6' },
  knex: { from: '3.3.0', line: '3' },
  libsql: { from: '0.5.29', line: '0.5' },
  mysql2: { from: '3.24.5', line: '3' },
  pg: { from: '8.23.1', line: '8' },
  'pino-pretty': { from: '11.0.0', line: '13' },
} as const satisfies Record<string, VersionRange>;

export type OptionalPackage = keyof typeof supportedVersions;

/** The package, which must be a CommonJS one; undefined if it is not installed, or in a version that does not work. */
export function optionalPackage<T>(name: OptionalPackage): T | undefined {
  return problemWith(name) ? undefined : (requireHere(name) as T);
}

/**
 * A CommonJS package that {@link requirePackages} has found, or a part of it. Its name is a variable: a bundler of an application
 * that does not have it would fail.
 */
export const requireOptional = <T>(path: OptionalPackage | `${OptionalPackage}/${string}`): T => requireHere(path) as T;

/**
 * Checks that packages are installed, in versions that work.
 *
 * @param user what needs them; the subject of the error
 * @throws GjallarError BAD_CONFIG with the command that installs those that are missing or do not work
 */
export function requirePackages(user: string, names: readonly OptionalPackage[]): void {
  const error = packageError(user, names);
  if (error) throw error;
}

/** The error of {@link requirePackages}; undefined if nothing is missing. */
export function packageError(user: string, names: readonly OptionalPackage[]): GjallarError | undefined {
  const found = names.flatMap((name) => problemWith(name) ?? []);
  if (found.length === 0) return undefined;
  const missing = found.filter(({ installed }) => !installed).length;
  const needs = [
    ...(missing > 0 ? [missing === 1 ? 'a package that is not installed' : 'packages that are not installed'] : []),
    ...found.flatMap(({ name, installed }) =>
      installed
        ? [`${name} ${wordsFor(supportedVersions[name])}, not ${installed.version} in ${installed.folder}`]
        : [],
    ),
  ];
  const wanted = found.map(({ name }) => `${name}@${supportedVersions[name].line}`);
  return new GjallarError('BAD_CONFIG', `${user} needs ${needs.join(', and ')}. Run: npm install ${wanted.join(' ')}`);
}

interface Installed {
  readonly version: string;
  readonly folder: string;
}

function problemWith(name: OptionalPackage): { name: OptionalPackage; installed?: Installed } | undefined {
  const installed = find(name);
  if (!installed) return { name };
  return isWithin(installed.version, supportedVersions[name]) ? undefined : { name, installed };
}

/** A prerelease counts as its release. */
export function isWithin(version: string, { from, line }: VersionRange): boolean {
  return compareVersions(version, from) >= 0 && (version.startsWith(`${line}.`) || compareVersions(version, line) < 0);
}

/** Negative if the first version is older. */
function compareVersions(one: string, other: string): number {
  const [ones, others] = [one, other].map((version) => version.split(/[.+-]/, 3).map(Number));
  for (let at = 0; at < 3; at++) {
    const difference = (ones![at] || 0) - (others![at] || 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** The range in words. */
export function wordsFor({ from, line }: VersionRange): string {
  return `${from} or a newer ${line}.x`;
}

/** The package that this one would load. Few packages export their package.json, so it is looked for as Node.js does. */
function find(name: string): Installed | undefined {
  for (const modules of requireHere.resolve.paths(name) ?? []) {
    const folder = join(modules, name);
    try {
      const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string };
      return { version, folder };
    } catch {
      // It is in none of the folders, or in the next one.
    }
  }
  return undefined;
}
