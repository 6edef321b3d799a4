import { relative } from 'node:path';
import { ApplicationError, killAll } from './application.js';
import type { Entry } from './client.js';
import { compareRuns } from './differences.js';
import { type CompareOptions, readOptions, UsageError } from './options.js';
import type { Observed } from './player.js';
import { type CompareResult, costsOf, leastOf, reportOf } from './report.js';
import { type Gjallar, gjallarWay, type Run, runWay, stockWay, type Way } from './run.js';
import { stepsOf } from './steps.js';

export { help, usage } from './options.js';
export type { CompareResult } from './report.js';
export type { Gjallar } from './run.js';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * `gjallar compare FILE`: runs an application on stock Socket.IO and on gjallar, drives both with the same traffic, and
 * prints what differs.
 *
 * @param args what follows `compare` on the command line
 * @param environment of the application
 * @returns the exit code: 0 without differences, 1 with some, and 2 if nothing could be compared
 */
export async function compare(args: readonly string[], gjallar: Gjallar, environment: Environment): Promise<number> {
  const forget = stopWithSignals();
  try {
    const options = readOptions(args);
    const result = await compareWays(options, gjallar, environment);
    console.log(options.json ? JSON.stringify(result) : reportOf(result).join('\n'));
    return result.behaviour.differences.length === 0 ? 0 : 1;
  } catch (error) {
    if (!(error instanceof UsageError || error instanceof ApplicationError)) throw error;
    console.error(`gjallar: ${error.message}`);
    return 2;
  } finally {
    forget();
  }
}

async function compareWays(options: CompareOptions, own: Gjallar, environment: Environment): Promise<CompareResult> {
  const { json, messagesPerSecond, connectsPerSecond } = options;
  const file = relative('', options.file);
  const steps = await stepsOf(options);
  const stock = stockWay(options);
  const gjallar = gjallarWay(options, own);
  const run = async (way: Way, title = way.title): Promise<Run> => {
    if (!json) console.error(`gjallar: runs ${file} on ${title}`);
    return runWay(way, steps, options, environment).catch((error) => {
      if (!(error instanceof ApplicationError)) throw error;
      throw new ApplicationError(`${file} on ${title} ${error.message}`);
    });
  };
  const reference = async (title = stock.title): Promise<Run> => {
    const one = await run(stock, title);
    const { 'the application': state } = one.observed;
    if (state !== 'runs') {
      const hint = 'what came after it is not compared; leave out the event that ended it';
      throw new ApplicationError(`${file} on ${title}, with this traffic, ${state}; ${hint}`);
    }
    if (options.driver === undefined) checkConnected(one.observed, `${file} on ${title}`);
    return one;
  };
  const first = await reference();
  // An application that starts on stock alone is a difference, and the only one.
  let hasStarted = true;
  const moved = await run(gjallar).catch((error): Run => {
    if (!(error instanceof ApplicationError)) throw error;
    hasStarted = false;
    return { observed: { 'the application': error.message } };
  });
  const again = await reference(`${stock.title} again`);
  const observed = [first, again, moved].map((one) =>
    hasStarted ? one.observed : { 'the application': one.observed['the application'] },
  );
  return {
    file,
    ways: { stock: stock.title, gjallar: gjallar.title },
    steps: steps.length,
    behaviour: compareRuns(observed[0]!, observed[1]!, observed[2]!),
    figures: {
      stock: costsOf(leastOf(first.figures, again.figures), options),
      gjallar: costsOf(moved.figures, options),
    },
    messagesPerSecond,
    connectsPerSecond,
  };
}

/** That nobody can connect to both servers is not what the user wants to know. */
function checkConnected(observed: Observed, who: string): void {
  const entries = Object.entries(observed).flatMap(([name, list]) => (/^client /.test(name) ? (list as Entry[]) : []));
  if (entries.some(([kind]) => kind === 'connect')) return;
  const [, reason] = entries.find(([kind]) => kind === 'connect_error') ?? [];
  throw new ApplicationError(
    `${who} let no client connect (${reason ?? 'no answer'}); see --auth, --header and --namespace`,
  );
}

/** A signal ends the applications too. */
function stopWithSignals(): () => void {
  const listeners = Object.entries({ SIGINT: 130, SIGTERM: 143, SIGHUP: 129 }).map(
    ([signal, code]) => [signal, () => process.exit(code)] as const,
  );
  for (const [signal, listener] of listeners) process.on(signal, listener);
  process.on('exit', killAll);
  return () => {
    for (const [signal, listener] of listeners) process.off(signal, listener);
    process.off('exit', killAll);
  };
}
