import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Hosts, whyNoHosts } from '../../../test/support/hosts.js';
import { cleaningUp } from '../support/scenario.js';
import { onOneHost, onTwoHosts } from './places.js';

const HOSTS = ['first', 'second', 'redis'];

export async function run({ short, seed, times = short ? 1 : 100, minutes = short ? 2 : 180 }) {
  const options = { short, seed, times, minutes };
  return (await Promise.all([onOneHost(options), amongHosts(options)])).flat();
}

/** The members have to be on one of the hosts, and so has the process that plays them. */
function amongHosts(options) {
  const reason = whyNoHosts();
  if (reason) return [{ name: 'two hosts', value: `skipped: ${reason}` }];
  return cleaningUp(async (use) => {
    const hosts = use(new Hosts(HOSTS), 'remove');
    const child = hosts.launcher('bridge')(process.execPath, [fileURLToPath(import.meta.url)], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      env: { ...process.env, TORTURE_HOSTS: hosts.prefix },
    });
    const exit = once(child, 'exit');
    child.send(options);
    const [figures] = await Promise.race([
      once(child, 'message'),
      exit.then(([code]) => Promise.reject(new Error(`the part with two hosts ended with ${code}`))),
    ]);
    await exit;
    return figures;
  });
}

if (process.env.TORTURE_HOSTS) {
  // However the other one ends: this one then ends in order, and with it what it has started.
  process.once('disconnect', () => process.exit(1));
  const [options] = await once(process, 'message');
  process.send(await onTwoHosts(Hosts.existing(process.env.TORTURE_HOSTS, HOSTS), options), () => process.exit(0));
}
