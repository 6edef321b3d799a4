import { existsSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { GjallarError } from '../base/errors.js';
import { isNear } from '../base/nearest.js';
import { packageError, requirePackages } from '../base/optional-packages.js';
import { packageFile, packagePath, version } from '../base/package.js';
import { loadConfig } from '../host/config/load.js';
import type { Config } from '../host/config/options.js';
import { revocationsFile, revocationsPosition, sqliteRevocations } from '../service/accounts/revocation-stores.js';
import { asksForHelp } from './application-arguments.js';
import { doctor } from './doctor/doctor.js';

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

/** `gjallar backup FILE` */
export const backup: Command = {
  usage: 'FILE',
  description: 'Saves the history and the revoked tokens in DATA_DIR as FILE. The server may be running.',
  async run(args, config) {
    const file = fileIn(args, 'backup');
    requireSqlite(config, 'To back up Redis, save its append-only file or its snapshot (SAVE, BGSAVE).');
    const { backUpHistory } = await openCopies();
    const dataDir = resolve(config.dataDir);
    const { messages, conversations } = backUpHistory(dataDir, file, await savedRevocations(dataDir));
    console.log(`saved ${counted({ messages, conversations })} in ${file}`);
    return 0;
  },
};

/** `gjallar restore FILE` */
export const restore: Command = {
  usage: 'FILE',
  description: 'Replaces the history in DATA_DIR by FILE, and adds its revoked tokens. Stop the server first.',
  async run(args, config) {
    const file = fileIn(args, 'restore');
    requireSqlite(config, 'To restore Redis, start it with the saved append-only file or snapshot.');
    const { restoreHistory } = await openCopies();
    const dataDir = resolve(config.dataDir);
    const { messages, conversations, others } = restoreHistory(file, dataDir);
    await restoreRevocations(dataDir, others);
    console.log(`restored ${counted({ messages, conversations })} to ${dataDir}`);
    return 0;
  },
};

/** The revoked tokens, which a restored history must not allow again. */
async function savedRevocations(dataDir: string): Promise<ReadonlyMap<string, string>> {
  if (!existsSync(revocationsFile(dataDir))) return new Map();
  const store = sqliteRevocations(dataDir);
  const saved = await store.read();
  store.close?.();
  return saved;
}

/** Adds revocations to those of a folder, which stay. In a folder without any, the next start reports that some may be missing. */
async function restoreRevocations(dataDir: string, saved: ReadonlyMap<string, string>): Promise<void> {
  if (saved.size === 0) return;
  const isNew = !existsSync(revocationsFile(dataDir));
  await sqliteRevocations(dataDir).change(saved, []);
  if (isNew) rmSync(revocationsPosition(dataDir));
}

function counted({ messages, conversations }: { messages: number; conversations: number }): string {
  const ofThem = `${conversations} ${conversations === 1 ? 'conversation' : 'conversations'}`;
  return `${messages} ${messages === 1 ? 'message' : 'messages'} of ${ofThem}`;
}

/** The file that is the only argument. @throws GjallarError BAD_CONFIG */
function fileIn(args: readonly string[], command: string): string {
  const [file, ...more] = args;
  if (!file || file.startsWith('-') || more.length > 0) {
    throw new GjallarError('BAD_CONFIG', `usage: gjallar ${command} FILE`);
  }
  return file;
}

/** @throws GjallarError BAD_CONFIG if the history is in Redis, or off */
function requireSqlite({ redisUrl, historyTtl }: Config, remedy: string): void {
  if (historyTtl === 0) throw new GjallarError('BAD_CONFIG', 'there is no history, because HISTORY_TTL is 0');
  if (redisUrl) {
    throw new GjallarError('BAD_CONFIG', `the history is in Redis, not in DATA_DIR. ${remedy}`);
  }
}

/** What copies the files of SQLite. @throws GjallarError BAD_CONFIG if libsql is not installed */
function openCopies(): Promise<typeof import('../features/history/sqlite/copy.js')> {
  requirePackages('the history in SQLite', ['libsql']);
  return import('../features/history/sqlite/copy.js');
}

/** The sub-commands by name. Without one, `gjallar` starts the server. */
export const commands: Readonly<Record<string, Command>> = { backup, compare, doctor, restore };

/**
 * Runs one of the operator's sub-commands, and sets the exit code.
 * @returns false for an option of `gjallar` itself
 * @throws GjallarError BAD_CONFIG for a command that does not exist
 */
export async function runTool(name: string, args: readonly string[]): Promise<boolean> {
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!command) {
    if (name.startsWith('-')) return false;
    throw new GjallarError('BAD_CONFIG', `there is no command ${name}; ${adviceOn(name)}`);
  }
  if (asksForHelp(args)) {
    console.log(await commandHelpText(name));
    return true;
  }
  const config = loadConfig(command.isForApplications ? {} : process.env);
  process.exitCode = await command.run(args, config, process.env);
  return true;
}

/** What was probably meant by a command that does not exist. */
function adviceOn(name: string): string {
  const meant = ['run', ...Object.keys(commands)].find((command) => isNear(name, command));
  if (meant) return `did you mean gjallar ${meant}?`;
  if (existsSync(name)) return `to run an application, use gjallar run ${name}`;
  return 'gjallar alone starts the chat service, gjallar run FILE an application, and gjallar --help lists all commands';
}

/** The text of `gjallar NAME --help`, for a sub-command such as `compare`. */
export async function commandHelpText(name: string): Promise<string> {
  const { usage, description, help } = commands[name]!;
  const parts = [`gjallar ${version}`, `Usage: gjallar ${name} ${usage}`, unindented(description), await help?.()];
  return parts.filter((part) => part !== undefined).join('\n\n');
}

/** Descriptions of several lines are indented for the list of commands. */
function unindented(text: string): string {
  return text.replace(/\n +/g, '\n');
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** A sub-command of `gjallar`. */
export interface Command {
  /** What follows the name on the command line. */
  readonly usage: string;
  readonly description: string;
  /** What `--help` prints besides: the options, one on each line, and the exit codes. */
  help?(): string | Promise<string>;
  /** Whether it runs applications of users, whose environment is not checked as the configuration of the chat service. */
  readonly isForApplications?: boolean;
  /** @returns the exit code */
  run(args: readonly string[], config: Config, environment: Environment): Promise<number> | number;
}
