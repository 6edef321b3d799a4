import { isFree } from './ports.js';

/** Whether this machine has an address of IPv6 to listen on. Containers often have none. */
export const hasIpv6 = await isFree(0, '::1');
if (!hasIpv6) console.warn('The tests of IPv6 are skipped: ::1 cannot be bound.');
