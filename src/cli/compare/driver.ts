import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isReserved } from './generate.js';
import { wrong } from './options.js';
import type { Step } from './steps.js';

/** The fields of each step that are texts. */
const FIELDS: Readonly<Record<Step['do'], readonly string[]>> = {
  open: ['client', 'transport'],
  upgrade: ['client'],
  connect: ['client', 'namespace'],
  emit: ['client', 'namespace', 'event'],
  answer: ['client', 'namespace'],
  leave: ['client', 'namespace'],
  close: ['client'],
  request: ['method', 'path'],
};
/** The player requests nothing that changes data. */
const METHODS = ['GET', 'HEAD', 'OPTIONS'];

/**
 * Reads the steps that a driver file exports as its default.
 * @throws GjallarError BAD_CONFIG with the first step that is wrong
 */
export async function readDriver(file: string): Promise<Step[]> {
  const { default: steps } = await import(pathToFileURL(resolve(file)).href).catch((error: Error) => {
    throw wrong(`--driver: cannot load ${file}: ${error.message.split('\n')[0]}`);
  });
  if (!Array.isArray(steps) || steps.length === 0)
    throw wrong(`--driver: ${file} must export a list of steps by default`);
  const opened = new Set<unknown>();
  for (const [index, step] of steps.entries()) {
    const text = jsonOf(step);
    const where = `step ${index + 1} of ${file}`;
    if (text === undefined) throw wrong(`--driver: ${where} has a value that JSON cannot express`);
    if (!isStep(step)) throw wrong(`--driver: ${where} is wrong: ${text}`);
    if (step.do === 'open') opened.add(step.client);
    else if (step.do !== 'request' && !opened.has(step.client))
      throw wrong(`--driver: ${where} names a client that no step before it opens: ${text}`);
  }
  return steps;
}

function jsonOf(step: unknown): string | undefined {
  try {
    return JSON.stringify(step);
  } catch {
    return undefined;
  }
}

function isStep(step: Record<string, unknown> | null): boolean {
  const fields = step && Object.hasOwn(FIELDS, String(step.do)) ? FIELDS[step.do as Step['do']] : undefined;
  if (!step || !fields?.every((field) => typeof step[field] === 'string')) return false;
  if (step.do === 'request') return METHODS.includes(step.method as string) && (step.path as string).startsWith('/');
  if (step.do === 'emit') return Array.isArray(step.args) && !isReserved(step.event as string);
  return step.do !== 'answer' || Array.isArray(step.args);
}
