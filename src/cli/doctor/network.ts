import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Problem } from '../../base/problems.js';
import { SharedPorts } from '../../cluster/primary/ports.js';
import type { Config } from '../../config/options.js';
import { type Finding, fail, ok, reasonOf, warn } from './finding.js';

const TIMEOUT_MS = 3000;
const DAY_MS = 86_400_000;
const MIN_DAYS = 14;

/** The ports: free, or already those of a running server, whose problems are listed. */
export async function checkPorts(config: Config): Promise<Finding[]> {
  const { host, port, tlsKey, adminHost, adminPort } = config;
  const failure = await failureAt(host, port);
  if (!failure) return [ok(`PORT=${port} is free`), ...(await checkOtherPorts(config))];
  // With TLS, the certificate is for another name than that of the loopback interface.
  const atPort = tlsKey ? undefined : await problemsAt(host, port);
  // Under `gjallar run`, the port is the application's, which may answer anything.
  const problems = atPort ?? (adminPort ? await problemsAt(adminHost, adminPort) : undefined);
  if (!problems) return [fail(`cannot listen on PORT=${port} at HOST=${host}: ${failure}. Set another PORT.`)];
  const where = atPort ? `PORT=${port}` : `ADMIN_PORT=${adminPort}; PORT=${port} is taken to be its own`;
  return [ok(`a server answers at ${where}`), ...problems.map((problem) => fail(`it reports: ${problem}`))];
}

/** The ports that a server would listen on besides PORT. */
async function checkOtherPorts({ host, adminHost, adminPort, workerPorts, workers }: Config): Promise<Finding[]> {
  const findings: Finding[] = [];
  const refused = adminPort && (await failureAt(adminHost, adminPort));
  if (refused) findings.push(fail(`cannot listen on ADMIN_PORT=${adminPort}: ${refused}. Set another ADMIN_PORT.`));
  for (let place = 0; workerPorts !== undefined && place < workers; place++) {
    const failure = await failureAt(host, workerPorts + place);
    if (!failure) continue;
    findings.push(fail(`cannot listen on WORKER_PORTS=${workerPorts}: ${failure}. Set other WORKER_PORTS.`));
    break;
  }
  return findings;
}

/** Why a server could not listen there. */
async function failureAt(host: string, port: number): Promise<string | undefined> {
  const ports = new SharedPorts();
  const { failure } = await ports.claim({ host, port, turn: 0 });
  ports.unlock();
  return failure?.message;
}

/** Where a server is that listens on this address. */
export function originOf(host: string, port: number): string {
  const name = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '[::1]' : host.includes(':') ? `[${host}]` : host;
  return `http://${name}:${port}`;
}

async function problemsAt(host: string, port: number): Promise<string[] | undefined> {
  try {
    const response = await fetch(`${originOf(host, port)}/readyz`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    const { state, problems } = (await response.json()) as { state: string; problems: Problem[] };
    const texts = problems.map(({ code, text, remedy }) => `${code}: ${text}. ${remedy}`);
    return state === 'draining' || state === 'not ready' ? [`it is ${state}`, ...texts] : texts;
  } catch {
    return undefined;
  }
}

/** How long the certificate is valid. */
export function checkCertificate({ tlsCert }: Config): Finding[] {
  if (!tlsCert) return [];
  const { validFrom, validTo } = new X509Certificate(readFileSync(tlsCert));
  const days = Math.floor((Date.parse(validTo) - Date.now()) / DAY_MS);
  if (Date.parse(validFrom) > Date.now()) return [fail(`TLS_CERT is valid only from ${validFrom}. Check the clock.`)];
  if (days < 0) return [fail(`TLS_CERT expired on ${validTo}. Renew it, and send SIGHUP.`)];
  const text = `TLS_CERT is valid for ${days} days`;
  return [days >= MIN_DAYS ? ok(text) : warn(`${text}. Renew it, and send SIGHUP.`)];
}

/** The server with the keys of user tokens. */
export async function checkKeys({ jwksUrl }: Config): Promise<Finding[]> {
  if (!jwksUrl) return [];
  try {
    const response = await fetch(jwksUrl, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    const { keys } = (await response.json()) as { keys?: unknown[] };
    if (Array.isArray(keys) && keys.length > 0) return [ok(`JWKS_URL has ${keys.length} keys`)];
    return [fail(`JWKS_URL answers without keys (status ${response.status}). Check the URL.`)];
  } catch (error) {
    return [fail(`JWKS_URL cannot be read: ${reasonOf((error as Error).cause ?? error)}. Tokens cannot be checked.`)];
  }
}
