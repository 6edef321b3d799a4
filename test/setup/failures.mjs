import { relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';

const MAX_LINES = 12;

/**
 * What failed, from the results that jest writes: tests, and files that could not be run or failed as a whole. The
 * latter have no name.
 * @returns {{ file: string, name?: string, message: string }[]}
 */
export function failuresOf({ testResults }) {
  return testResults.flatMap(({ name: path, assertionResults, status, message }) => {
    const file = relative(process.cwd(), path);
    const failed = assertionResults.filter((result) => result.status === 'failed');
    if (failed.length === 0 && status === 'failed') return [{ file, message: linesOf(message).join('\n') }];
    return failed.map(({ fullName, failureMessages }) => ({
      file,
      name: fullName,
      message: linesOf(failureMessages.join('\n')).join('\n'),
    }));
  });
}

/** A failure for people: the test, and the first lines of its message. */
export function describeFailure({ file, name, message }) {
  const lines = message.split('\n').slice(0, MAX_LINES);
  return [
    `${file}${name === undefined ? ' (the whole file)' : ` › ${name}`}`,
    ...lines.map((line) => `    ${line}`),
  ].join('\n');
}

function linesOf(message) {
  return stripVTControlCharacters(message)
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.includes('/node_modules/'));
}
