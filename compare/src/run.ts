import { createRequire } from 'node:module';
import { Application, ApplicationError } from './application.js';
import { type Figures, measureCrowd } from './crowd.js';
import { send } from './observation.js';
import type { CompareOptions, SentEvent } from './options.js';
import { type Observed, play } from './player.js';
import { freePort } from './processes.js';
import type { Step } from './steps.js';

/** The gjallar that runs the application. */
export interface Gjallar {
  readonly version: string;
  /** The file of the program `gjallar`. */
  readonly program: string;
  /** The URL of `gjallar/register`. */
  readonly register: string;
}

/** A way to run the application. */
export interface Way {
  readonly title: string;
  readonly isGjallar: boolean;
  /** The arguments of Node.js. */
  readonly args: readonly string[];
  /** What the standard output must have said before all workers listen. */
  readonly greeting?: RegExp;
}

export function stockWay({ file, rest, nodeFlags }: CompareOptions): Way {
  return { title: `stock socket.io${versionAt(file)}`, isGjallar: false, args: [...nodeFlags, file, ...rest] };
}

export function gjallarWay({ file, rest, nodeFlags, workers }: CompareOptions, gjallar: Gjallar): Way {
  const way = { title: `gjallar ${gjallar.version}`, isGjallar: true };
  if (workers === undefined) return { ...way, args: [...nodeFlags, '--import', gjallar.register, file, ...rest] };
  return {
    ...way,
    title: `${way.title}, ${workers} ${workers === 1 ? 'worker' : 'workers'}`,
    args: [gjallar.program, 'run', ...nodeFlags, file, '--workers', String(workers), '--', ...rest],
    greeting: /gjallar: .* (listens on port|runs with) /,
  };
}

/** The version of the application's copy of socket.io, after a space. */
function versionAt(file: string): string {
  try {
    return ` ${(createRequire(file)('socket.io/package.json') as { version: string }).version}`;
  } catch {
    return '';
  }
}

export interface Run {
  readonly observed: Observed;
  /** Undefined with `--clients 0`. */
  readonly figures?: Figures;
}

/**
 * Starts the application in one way, drives it with the steps, measures it, and stops it.
 * @throws ApplicationError if it does not start
 */
export async function runWay(
  { args, greeting, isGjallar }: Way,
  steps: readonly Step[],
  options: CompareOptions,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Run> {
  const { path, port: fixedPort, startTimeoutMs } = options;
  const application = await Application.start({
    ...{ args, greeting, port: await freePort(), fixedPort, path, environment, startTimeoutMs },
  });
  try {
    await checkServer(application, path, isGjallar);
    const observed = await play(steps, application.server, options);
    const { endedWith, lastError } = application;
    observed['the application'] = endedWith ? `ended: ${lastError || endedWith}` : 'runs';
    if (options.clients === 0 || endedWith) return { observed };
    const first = steps.find((step) => step.do === 'connect');
    const figures = await measureCrowd(application.pid, application.server, {
      ...options,
      namespace: first?.do === 'connect' ? first.namespace : '/',
      // A driver's own events are sent by the crowd too.
      events: options.driver === undefined ? options.events : eventsIn(steps),
    });
    return { observed, figures };
  } finally {
    await application.stop();
  }
}

function eventsIn(steps: readonly Step[]): SentEvent[] {
  return steps.flatMap((step) =>
    step.do === 'emit' ? [{ event: step.event, args: step.args, ack: step.ack === true }] : [],
  );
}

/** A way that does not run the application as it says would prove nothing. */
async function checkServer({ server }: Application, path: string, isGjallar: boolean): Promise<void> {
  const { headers } = await send(server, 'GET', `${path}?EIO=4&transport=none`);
  if (!isGjallar && 'uwebsockets' in headers) {
    throw new ApplicationError('already runs on gjallar; compare needs an application that imports socket.io');
  }
  if (isGjallar && !('x-content-type-options' in headers)) {
    throw new ApplicationError('did not run on gjallar: it bundles socket.io, or uses a copy that is older than 4.6');
  }
}
