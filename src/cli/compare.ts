import { packageError } from '../base/optional-packages.js';
import { packageFile, packagePath, version } from '../base/package.js';
import type { Command, Environment } from './commands.js';

/** The exit code if nothing could be compared. */
const NOTHING_COMPARED = 2;

/** What the package gjallar-compare exports. It is not part of this one: only development needs it. */
interface Comparison {
  readonly help: string;
  compare(args: readonly string[], gjallar: object, environment: Environment): Promise<number>;
}

/** A name that TypeScript does not look up: this package is built first. */
const NAME: string = 'gjallar-compare';

export const compare: Command = {
  usage: 'FILE [options] [-- arguments]',
  description: 'Runs your application on stock socket.io and on gjallar, and prints what differs.',
  isForApplications: true,
  async help() {
    const error = packageError('gjallar compare', ['gjallar-compare']);
    return error ? error.message : ((await import(NAME)) as Comparison).help;
  },
  async run(args, _config, environment) {
    const error = packageError('gjallar compare', ['gjallar-compare']);
    if (error) {
      console.error(`gjallar: ${error.message}`);
      return NOTHING_COMPARED;
    }
    const gjallar = {
      version,
      program: packagePath('dist/main.js'),
      register: packageFile('dist/io/server/register.js').href,
    };
    return ((await import(NAME)) as Comparison).compare(args, gjallar, environment);
  },
};
