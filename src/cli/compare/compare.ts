import { relative } from 'node:path';
import type { Manager } from 'socket.io-client';
import { missingPackages, requirePackages } from '../../compat/optional-packages.js';
import { GjallarError } from '../../errors.js';
import { version } from '../../version.js';
import type { Command, Environment } from '../command.js';
import { compareRuns } from './differences.js';
import { readDriver } from './driver.js';
import { generate } from './generate.js';
import { help } from './help.js';
import { type CompareOptions, readOptions, usage } from './options.js';
import { reportOf } from './report.js';
import { type CompareResult, costsOf, leastOf } from './result.js';
import { type Run, runWay } from './run-way.js';
import { ApplicationError, killAll } from './server/application.js';
import { gjallarWay, stockWay } from './ways.js';

/**
 * `gjallar compare FILE`: runs an application on stock Socket.IO and on gjallar, drives both with the same traffic, and
 * prints what differs. The exit code is 0 without differences, 1 with some, and 2 if nothing could be compared.
 */
export const compare: Command = {
  usage,
  description: 'Runs your application on stock socket.io and on gjallar, and prints what differs.',
  help,
  isForApplications: true,
  async run(args, _config, environment) {
    const forget = stopWithSignals();
    try {
      const options = readOptions(args);
      const result = await compareWays(options, environment);
      const lines = options.json ? [JSON.stringify(result)] : reportOf(result);
      console.log(lines.join('\n'));
      return result.behaviour.differences.length === 0 ? 0 : 1;
    } catch (error) {
      if (!(error instanceof GjallarError || error instanceof ApplicationError)) throw error;
      console.error(`gjallar: ${error.message}`);
      return 2;
    } finally {
      forget();
    }
  },
};

async function compareWays(options: CompareOptions, environment: Environment): Promise<CompareResult> {
  requirePackages('gjallar compare', ['socket.io-client']);
  const client = await import('socket.io-client');
  // Older clients cannot listen to all events.
  if (!client.Socket?.prototype.onAny) throw missingPackages('gjallar compare', ['socket.io-client@4']);
  const steps = await stepsOf(options);
  const driven = { steps, options, environment, Manager: client.Manager as never as DrivenManager };
  const stock = stockWay(options);
  const gjallar = gjallarWay(options, version);
  const run = async (title: string, way: typeof stock, isGjallar: boolean): Promise<Run> => {
    if (!options.json) console.error(`gjallar: runs ${relative('', options.file)} on ${title}`);
    return runWay(way, driven, isGjallar).catch((error) => {
      if (!(error instanceof ApplicationError)) throw error;
      throw new ApplicationError(`${relative('', options.file)} on ${title} ${error.message}`);
    });
  };
  const reference = async (title: string): Promise<Run> => {
    const one = await run(title, stock, false);
    const { 'the application': state } = one.observed;
    if (state === 'runs') return one;
    const hint = 'what came after it is not compared; leave out the event that ended it';
    throw new ApplicationError(`${relative('', options.file)} on ${title}, with this traffic, ${state}; ${hint}`);
  };
  const first = await reference(stock.title);
  const own = await run(gjallar.title, gjallar, true).catch((error): Run => {
    if (!(error instanceof ApplicationError)) throw error;
    return { observed: { 'the application': error.message }, figures: undefined };
  });
  const again = await reference(`${stock.title} again`);
  const isStarted = Object.keys(own.observed).length > 1 || own.observed['the application'] === 'runs';
  const behaviour = isStarted
    ? compareRuns(first.observed, again.observed, own.observed)
    : compareRuns(...([first, again, own].map(onlyApplication) as [Observation, Observation, Observation]));
  return {
    file: relative('', options.file),
    ways: { stock: stock.title, gjallar: gjallar.title },
    steps: steps.length,
    behaviour,
    figures: {
      stock: costsOf(leastOf(first.figures, again.figures), options),
      gjallar: costsOf(own.figures, options),
    },
    messagesPerSecond: options.messagesPerSecond,
    connectsPerSecond: options.connectsPerSecond,
  };
}

type Observation = Record<string, unknown>;
type DrivenManager = new (url: string, options: object) => Manager;

const onlyApplication = ({ observed }: Run): Observation => ({ 'the application': observed['the application'] });

async function stepsOf({ driver, events, namespaces, paths, path, auth }: CompareOptions) {
  if (driver !== undefined) return readDriver(driver);
  return generate({ events, namespaces, paths, path, hasAuth: auth !== undefined });
}

/** A signal ends the applications too. */
function stopWithSignals(): () => void {
  const codes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
  const listeners = Object.entries(codes).map(([signal, code]) => {
    const listener = () => {
      killAll();
      process.exit(code);
    };
    process.on(signal, listener);
    return () => process.off(signal, listener);
  });
  process.on('exit', killAll);
  return () => {
    for (const forget of listeners) forget();
    process.off('exit', killAll);
  };
}
