/**
 * Packages that gjallar does not install by itself, because only some of its parts need them. package.json lists them as
 * optional peer dependencies, and deploy/service/package.json installs them in a clone and in the image.
 */
import { createRequire } from 'node:module';
import { GjallarError } from '../errors.js';

const require = createRequire(import.meta.url);

/** The package, which must be a CommonJS one; undefined if it is not installed. */
export function optionalPackage<T>(name: string): T | undefined {
  return isInstalled(name) ? (require(name) as T) : undefined;
}

/**
 * Checks that packages are installed.
 *
 * @param user what needs them; the subject of the error
 * @throws GjallarError BAD_CONFIG with the command that installs those that are missing
 */
export function requirePackages(user: string, names: readonly string[]): void {
  const missing = names.filter((name) => !isInstalled(name));
  if (missing.length > 0) throw missingPackages(user, missing);
}

/** The error that names the command which installs the packages. */
export function missingPackages(user: string, names: readonly string[]): GjallarError {
  const packages = names.length === 1 ? 'a package that is' : 'packages that are';
  return new GjallarError('BAD_CONFIG', `${user} needs ${packages} not installed. Run: npm install ${names.join(' ')}`);
}

/** Whether the package can be loaded. */
export function isInstalled(name: string): boolean {
  try {
    require.resolve(name);
    return true;
  } catch (error) {
    // A package that can only be imported is found, but not resolved.
    return (error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND';
  }
}
