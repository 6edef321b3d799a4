import { parseArgs } from 'node:util';

/** What a command ends with when it rejects its arguments. */
const BAD_USAGE = 2;

/** Arguments that a command rejects. The message is one line. */
export class UsageError extends Error {}

/**
 * `parseArgs` of node:util for a command that takes names and `--help`.
 * @param {import('node:util').ParseArgsConfig['options']} options
 * @throws UsageError
 */
export function parseArguments(options, args = process.argv.slice(2)) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: { ...options, help: { type: 'boolean', default: false } },
    });
  } catch (error) {
    // The first sentence says what is wrong; what follows it is advice for other cases.
    throw new UsageError(error.message.split(/\. |\.?\n/, 1)[0]);
  }
}

/** Throws a UsageError that lists the names that are not among the known ones. */
export function rejectUnknown(kind, names, known) {
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0) throw new UsageError(`unknown ${kind}: ${unknown.join(', ')}`);
}

/** A positive number that an option gives, or undefined. @throws UsageError */
export function numberOption(values, name) {
  if (values[name] === undefined) return undefined;
  const number = Number(values[name]);
  if (values[name] !== '' && number >= 0 && Number.isFinite(number)) return number;
  throw new UsageError(`--${name} must be a number, not "${values[name]}"`);
}

/**
 * What `read` makes of the arguments. Where they ask for help, prints the usage and ends the process; where they are
 * wrong, says so in one line and ends it with BAD_USAGE.
 * @template T
 * @param {{ name: string, call: string }} command what its errors begin with, and how one runs it
 * @param {() => T & { help: boolean }} read
 * @param {(read: T) => string | Promise<string>} usage
 * @returns {Promise<T>}
 */
export async function readCommandLine({ name, call }, read, usage) {
  try {
    const found = read();
    if (!found.help) return found;
    console.log(await usage(found));
    process.exit(0);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    console.error(`${name}: ${error.message}. Run "${call} --help" for usage.`);
    process.exit(BAD_USAGE);
  }
}

/**
 * Rows of cells as lines, with columns as wide as their widest cell.
 * @param {string[][]} rows
 * @param {(column: number) => boolean} [isText] whether a column is text; what is none is aligned to the right
 */
export function aligned(rows, isText = () => true, between = '  ') {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  const padded = (cell, column) => (isText(column) ? cell.padEnd(widths[column]) : cell.padStart(widths[column]));
  return rows.map((row) => row.map(padded).join(between).trimEnd());
}

/** Names with what each is, as lines of a usage text. @param {[string, string][]} entries */
export const listed = (entries) =>
  aligned(entries)
    .map((line) => `  ${line}`)
    .join('\n');
