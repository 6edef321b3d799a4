import { readFileSync, statSync } from 'node:fs';
import { type Step, trafficHeader } from '../../record/steps.js';
import { isReserved } from './generate.js';
import { wrong } from './options.js';

/** A larger file is rejected, in bytes. */
const MAX_FILE = 256 * 1024 * 1024;
const kinds = new Set(['open', 'upgrade', 'connect', 'connected', 'emit', 'answer', 'leave', 'close', 'request']);
const transports = new Set(['polling', 'websocket']);
/** Requests that change nothing; others would need their bodies, which are not recorded. */
const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Reads a file of `gjallar record`: its first `maxClients` clients, and its first `maxMs` milliseconds.
 * @throws GjallarError BAD_CONFIG with the number of a line that is wrong
 */
export function readTraffic(file: string, { maxClients, maxMs }: { maxClients: number; maxMs: number }): Step[] {
  const [first, ...lines] = linesOf(file);
  if (!isHeader(first)) throw wrong(`${file} is no file of gjallar record`);
  const clients = new Set<string>();
  const steps: Step[] = [];
  for (const [index, line] of lines.entries()) {
    const step = stepOf(line);
    if (!step) throw wrong(`line ${index + 2} of ${file} is no step of gjallar record`);
    if (step.at > maxMs) continue;
    if (step.do === 'request') {
      if (safeMethods.has(step.method)) steps.push(step);
      continue;
    }
    if (step.do === 'open' && clients.size < maxClients) clients.add(step.client);
    if (clients.has(step.client)) steps.push(step);
  }
  if (steps.length === 0) throw wrong(`${file} has no traffic to play`);
  return steps.sort((a, b) => a.at - b.at);
}

function linesOf(file: string): string[] {
  try {
    if (statSync(file).size > MAX_FILE) throw wrong(`${file} is larger than ${MAX_FILE / 1024 / 1024} MiB`);
    return readFileSync(file, 'utf8').split('\n').filter(Boolean);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code !== 'BAD_CONFIG') {
      throw wrong(`cannot read ${file} (${String(error.code)})`);
    }
    throw error;
  }
}

function isHeader(line: string | undefined): boolean {
  const header = parsed(line);
  return header?.gjallar === trafficHeader.gjallar && header.version === trafficHeader.version;
}

function stepOf(line: string): Step | undefined {
  const step = parsed(line);
  if (!step || typeof step.at !== 'number' || !(step.at >= 0) || !kinds.has(step.do as string)) return undefined;
  const has = (...names: string[]) => names.every((name) => typeof step[name] === 'string');
  const isRequest = step.do === 'request';
  if (isRequest ? !has('method', 'path') || !/^\/[!-~]*$/.test(step.path as string) : !has('client')) return undefined;
  if (step.do === 'open' && !transports.has(step.transport as string)) return undefined;
  if (['connect', 'connected', 'emit', 'answer', 'leave'].includes(step.do as string) && !has('namespace'))
    return undefined;
  if (step.do === 'emit' && (!has('event') || isReserved(step.event as string))) return undefined;
  if (['emit', 'answer'].includes(step.do as string) && !Array.isArray(step.args)) return undefined;
  return step as unknown as Step;
}

function parsed(line: string | undefined): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line ?? '');
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
