import type { Manager } from 'socket.io-client';
import { type Observed, play } from './drive/player.js';
import { send } from './drive/request.js';
import type { SentEvent } from './generate.js';
import { type Figures, measureCrowd } from './measure/crowd.js';
import type { CompareOptions } from './options.js';
import { Application, ApplicationError } from './server/application.js';
import { freePort } from './server/ports.js';
import type { Step } from './steps.js';
import type { Way } from './ways.js';

export interface Run {
  readonly observed: Observed;
  /** Undefined with `--clients 0`. */
  readonly figures: Figures | undefined;
}

export interface Driven {
  readonly steps: readonly Step[];
  readonly options: CompareOptions;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly Manager: new (url: string, options: object) => Manager;
}

/**
 * Starts the application in one way, drives it with the traffic, measures it, and stops it.
 * @throws ApplicationError if it does not start
 */
export async function runWay(
  way: Way,
  { steps, options, environment, Manager }: Driven,
  isGjallar: boolean,
): Promise<Run> {
  const { path, auth, headers, settleMs, port: fixedPort, startTimeoutMs } = options;
  const start = { args: way.args, greeting: way.greeting, port: await freePort(), fixedPort, path, environment };
  const application = await Application.start({ ...start, startTimeoutMs });
  try {
    await checkServer(application, path, isGjallar);
    const playing = { Manager, path, auth, headers, settleMs };
    const observed = await play(steps, application.server, playing);
    observed['the application'] = endOf(application) ?? 'runs';
    if (options.clients === 0 || application.endedWith) return { observed, figures: undefined };
    const first = steps.find((step) => step.do === 'connect');
    const figures = await measureCrowd(application.pid, application.server, {
      ...playing,
      clients: options.clients,
      rate: options.rate,
      seconds: options.seconds,
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

/** How the application ended, if it did. */
function endOf({ endedWith, lastError }: Application): string | undefined {
  if (!endedWith) return undefined;
  return `ended: ${lastError || endedWith}`;
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
