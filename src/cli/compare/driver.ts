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
  const at = steps.findIndex((step) => !isStep(step));
  if (at !== -1) throw wrong(`--driver: step ${at + 1} of ${file} is wrong: ${JSON.stringify(steps[at])}`);
  return steps;
}

function isStep(step: Record<string, unknown> | null): boolean {
  const fields = step && Object.hasOwn(FIELDS, String(step.do)) ? FIELDS[step.do as Step['do']] : undefined;
  if (!step || !fields?.every((field) => typeof step[field] === 'string')) return false;
  if (step.do === 'request') return METHODS.includes(step.method as string) && (step.path as string).startsWith('/');
  if (step.do === 'emit') return Array.isArray(step.args) && !isReserved(step.event as string);
  return step.do !== 'answer' || Array.isArray(step.args);
}
