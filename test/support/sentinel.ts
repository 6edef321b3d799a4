import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { end, own } from './children.js';
import { atEnd } from './ends.js';
import { lineWith } from './owned-process.js';
import { onFreePort } from './ports.js';

/**
 * A Sentinel of a Redis, its name there being `chat`. It ends with the test.
 * @param quorum how many must agree that it is down
 * @param settings in place of those of its port
 */
export async function startSentinel(
  folder: string,
  master: number,
  quorum = 1,
  settings = (port: number) => [`port ${port}`],
): Promise<{ address: string; stop(): Promise<void> }> {
  return onFreePort(async (port) => {
    const file = join(folder, `sentinel-${port}.conf`);
    const monitor = `sentinel monitor chat 127.0.0.1 ${master} ${quorum}`;
    const times = ['sentinel down-after-milliseconds chat 1000', 'sentinel failover-timeout chat 5000'];
    writeFileSync(file, [...settings(port), 'bind 127.0.0.1', `dir ${folder}`, monitor, ...times, ''].join('\n'));
    const child = own(spawn('redis-server', [file, '--sentinel'], { stdio: ['ignore', 'pipe', 'inherit'] }));
    const stop = () => end(child);
    atEnd(stop);
    await lineWith(child, '+monitor master chat');
    return { address: `127.0.0.1:${port}`, stop };
  });
}
