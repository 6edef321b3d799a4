import type { Logger } from 'pino';
import type { Engine } from '../engine/engine.js';
import { type LoadLevel, levels } from '../engine/limits/load-monitor.js';
import type { CloseReason } from '../engine/protocol/close-reasons.js';
import type { Session } from '../engine/session/session.js';

const FULL = 'the worker is about to run out of file descriptors: it turns new connections away';
const OVERLOADED = 'the worker is overloaded: it turns new clients away';

/** From this level on, being overloaded is a problem that operators are told of. */
const PROBLEM_FROM: LoadLevel = 2;

/** Logs what the engine protects itself from, once when it begins and once when it ends. */
export function reportEngine(engine: Engine, problems: Set<string>, log: Logger): void {
  engine.on('limit', ({ remoteAddress: address }: Session, reason: CloseReason) => {
    log.info({ reason, address }, 'a client was disconnected');
  });
  engine.connectionGuard.onChange = (isFull) => {
    const { max } = engine.connectionGuard;
    if (isFull) log.error({ max }, `${FULL}; raise the limit of open files (ulimit -n), or add workers`);
    else log.info('new connections are accepted again');
    toggle(problems, FULL, isFull);
  };
  engine.load.onChange = (level) => {
    const isProblem = level >= PROBLEM_FROM;
    if (isProblem === problems.has(OVERLOADED)) return;
    const delayMs = Math.round(engine.load.delayMs);
    if (isProblem) log.warn({ level: levels[level].name, delayMs }, OVERLOADED);
    else log.info('the worker is no longer overloaded');
    toggle(problems, OVERLOADED, isProblem);
  };
}

function toggle(problems: Set<string>, problem: string, isOn: boolean): void {
  if (isOn) problems.add(problem);
  else problems.delete(problem);
}
