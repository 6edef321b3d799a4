import type { Manager } from 'socket.io-client';
import type { Step } from '../../record/steps.js';
import { type Observed, play } from './drive/player.js';
import { send } from './drive/request.js';
import { type Figures, measureCrowd } from './measure/crowd.js';
import { cpuMicros, percentile } from './measure/usage.js';
import type { CompareOptions } from './options.js';
import { Application, ApplicationError } from './server/application.js';
import { freePort } from './server/ports.js';
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
  const { path, auth, headers, settleMs, traffic, port: fixedPort, startTimeoutMs } = options;
  const start = { args: way.args, greeting: way.greeting, port: await freePort(), fixedPort, path, environment };
  const application = await Application.start({ ...start, startTimeoutMs });
  try {
    await checkServer(application, path, isGjallar);
    const playing = {
      Manager,
      path,
      auth,
      headers,
      settleMs,
      speed: traffic === undefined ? undefined : options.speed,
    };
    const before = cpuMicros(application.pid);
    const { observed, ...played } = await play(steps, application.server, playing);
    const cpu = cpuMicros(application.pid) - before;
    observed['the application'] = endOf(application) ?? 'runs';
    if (options.clients === 0 || application.endedWith) return { observed, figures: undefined };
    const first = steps.find((step) => step.do === 'connect');
    const figures = await measureCrowd(application.pid, application.server, {
      ...{ ...playing, clients: options.clients, rate: options.rate, seconds: options.seconds },
      namespace: first?.do === 'connect' ? first.namespace : '/',
      events: options.events,
    });
    if (traffic === undefined) return { observed, figures };
    const cpuPerMessage = (cpu - played.opened * figures.cpuPerConnect) / played.emitted;
    const acks = { ackP50: percentile(played.latencies, 0.5), ackP99: percentile(played.latencies, 0.99) };
    return { observed, figures: { ...figures, cpuPerMessage: Math.max(0, cpuPerMessage), ...acks } };
  } finally {
    await application.stop();
  }
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
