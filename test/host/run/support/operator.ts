import type { RunningApplication } from './application.js';

/** The account of the operator, as the environment of an application has it. */
export const account = { ADMIN_USER: 'op', ADMIN_PASSWORD: 'secret' };
export const authorization = `Basic ${Buffer.from('op:secret').toString('base64')}`;

/** Sends a request of the operator. */
export async function post(app: RunningApplication, path: string, body: unknown, headers: Record<string, string> = {}) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const init = { method: 'POST', body: text, headers: { authorization, ...headers } };
  const response = await fetch(`${app.admin}/api/${path}`, init);
  return { status: response.status, ...((await response.json()) as Record<string, unknown>) };
}
