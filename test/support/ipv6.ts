import { once } from 'node:events';
import { createServer } from 'node:net';

/** Whether this machine has an address of IPv6 to listen on. Containers often have none. */
export const hasIpv6 = await canBind('::1');
if (!hasIpv6) console.warn('The tests of IPv6 are skipped: ::1 cannot be bound.');

async function canBind(host: string): Promise<boolean> {
  const server = createServer().listen(0, host);
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
