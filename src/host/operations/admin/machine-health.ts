import type { IncomingMessage } from 'node:http';
import { packagePath } from '../../../base/package.js';
import { distinct, type Problems, type Reason } from '../../../base/problems.js';
import { pageHeaders } from '../../../io/http/headers.js';
import type { JsonSender } from '../../../io/http/json.js';
import { StaticFiles } from '../../../io/http/static-files.js';
import type { Health } from '../health.js';

/** The health of all workers of a machine together. */
export interface MachineHealth extends Health {
  /** The number of workers that answer. */
  readonly workers: number;
}

/** What the primary knows by itself. */
export interface MachineFacts {
  /** The number of workers that should run. */
  readonly configuredWorkers: number;
  /** Whether workers have still to start for the first time. */
  readonly isStarting: boolean;
  readonly isLeaving: boolean;
  /** Whether clients can reach a worker; true until the first worker has started. */
  readonly isOnPort: boolean;
  /** Why lines of the primary's own log are lost; undefined if they are not. */
  readonly logWarning: string | undefined;
  /** The problems that only the primary knows. */
  readonly problems: Problems;
}

/** The health by the id of the worker; undefined for one that does not respond. */
export type HealthByWorker = ReadonlyMap<number, Health | undefined>;

/**
 * Sums up the health of the workers. A machine is ready if one of its workers is, once all have started.
 * @param answers the health by the id of the worker; undefined for workers that do not respond
 * @param joining the same of workers that do not listen yet, for which nothing can be said of those that do not respond
 */
export function machineHealth(
  answers: HealthByWorker,
  { configuredWorkers, isStarting, isLeaving, isOnPort, logWarning, problems }: MachineFacts,
  joining: HealthByWorker = new Map(),
): MachineHealth {
  const known = [...answers.values()].filter((health) => health !== undefined);
  const heard = [...answers.values(), ...joining.values()].filter((health) => health !== undefined);
  const own: Reason[] = [];
  for (const [id, health] of answers) {
    if (!health) own.push({ code: 'WORKER_SILENT', text: `worker ${id} does not respond` });
  }
  const missing = configuredWorkers - answers.size;
  if (missing > 0) {
    const which = `${missing} of ${configuredWorkers} workers ${missing === 1 ? 'is' : 'are'}`;
    if (isStarting) own.push({ code: 'WORKERS_STARTING', text: `${which} still starting` });
    else own.push({ code: 'WORKERS_MISSING', text: `${which} not running` });
  }
  if (!isOnPort) own.push({ code: 'NOT_LISTENING', text: 'the application listens on no port' });
  if (logWarning !== undefined) own.push({ code: 'LOG_LOST', text: logWarning });
  problems.replace(own);
  const isReady = !isStarting && known.some(({ state }) => state === 'ready');
  return {
    state: isLeaving ? 'draining' : isReady ? 'ready' : 'not ready',
    problems: distinct([...heard.flatMap((health) => health.problems), ...problems.down]),
    warnings: distinct([...heard.flatMap((health) => health.warnings), ...problems.warnings]),
    workers: known.length,
  };
}

const PATH = '/admin/';
/** Files that the operator's page shares with the demo page. */
const SHARED: readonly string[] = ['base.css', 'dom.js', 'favicon.svg'];

/** The files of the operator's page. */
export class AdminPage {
  private readonly files = new StaticFiles()
    .add(PATH, packagePath('public/admin'))
    .add(PATH, packagePath('public'), (name) => SHARED.includes(name));
  private readonly headers = pageHeaders(false);

  /** Answers a GET or HEAD request. Returns false if the path is none of the page. */
  serve({ url = '', headers }: IncomingMessage, sender: JsonSender): boolean {
    if (url.split('?', 1)[0] === PATH.slice(0, -1)) {
      // Relative, so that it works behind a proxy that puts a prefix before the path.
      sender.send(308, { ...this.headers, Location: 'admin/' }, '');
      return true;
    }
    return this.files.serve({ request: { url, headers }, send: sender.send }, this.headers);
  }

  /** Whether a path belongs to the page. */
  static has(path: string): boolean {
    return path === PATH.slice(0, -1) || path.startsWith(PATH);
  }
}
