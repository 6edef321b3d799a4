import { GjallarError } from '../../errors.js';
import type { Admin } from '../../http/guard.js';
import type { Overview } from '../../operations/overview/overview.js';

/** How long the server may take, in ms. Workers that do not respond take it 2 s each time. */
const TIMEOUT_MS = 10_000;

/**
 * Reads the overview of a machine.
 * @param admin the address of its admin port
 * @throws GjallarError BAD_CONFIG with a message that says what to do
 */
export async function readOverview(admin: URL, account: Admin | undefined): Promise<Overview> {
  const given = account && Buffer.from(`${account.user}:${account.password}`).toString('base64');
  const headers = given ? { authorization: `Basic ${given}` } : undefined;
  let response: Response;
  try {
    response = await fetch(new URL('/api/overview', admin), { headers, signal: AbortSignal.timeout(TIMEOUT_MS) });
  } catch (error) {
    const { message, cause } = error as Error;
    const reason = (cause as NodeJS.ErrnoException | undefined)?.code ?? message;
    throw failure(`cannot reach ${admin.origin} (${reason}); check that ADMIN_PORT is set and the server runs`);
  }
  if (response.status === 401) {
    throw failure(
      account
        ? `${admin.origin} rejects ADMIN_USER (or --user) and ADMIN_PASSWORD: one of them is wrong; set those of the server`
        : `${admin.origin} asks for a password; set ADMIN_USER (or --user) and ADMIN_PASSWORD`,
    );
  }
  const overview = (await response.json().catch(() => undefined)) as Overview | undefined;
  if (!response.ok || overview?.ok !== true) {
    throw failure(`${admin.origin} is not the admin port of gjallar (status ${response.status}); check --admin`);
  }
  return overview;
}

function failure(message: string): GjallarError {
  return new GjallarError('BAD_CONFIG', message);
}
