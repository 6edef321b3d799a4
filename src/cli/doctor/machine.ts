import { readFileSync } from 'node:fs';
import { memoryLimit, processorLimit } from '../../cgroup.js';
import { movesConnections } from '../../cluster/primary/ports.js';
import { socketsInUse } from '../../compat/uws.js';
import { descriptorLimit } from '../../config/limits.js';
import type { Config } from '../../config/options.js';
import { type Finding, fail, ok, warn } from './finding.js';

const MIN_BACKLOG = 4096;
const MIN_MEMORY_PER_WORKER = 256 * 2 ** 20;
const MIB = 2 ** 20;

/** The limits of the machine or container. */
export function checkMachine({ workers }: Config): Finding[] {
  return [sockets(), descriptors(workers), backlog(), migration(), memory(workers), processors(workers)];
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return undefined;
  }
}

function sockets(): Finding {
  const { kind, source, reason, remedy, warning } = socketsInUse;
  if (kind === 'native') return ok(`the sockets are native: ${source}`);
  if (!warning) return ok(`the sockets are portable: ${reason}`);
  return warn(`${warning}. To have native ones, ${remedy}.`);
}

function descriptors(workers: number): Finding {
  const limit = descriptorLimit(workers);
  if (!limit) return warn('the limit of open files is unknown on this system');
  const each = `each worker may hold ${limit.max} file descriptors, one per connection`;
  if (limit.isTooSmall) {
    const remedy = 'Raise the limit (ulimit -n, or LimitNOFILE of systemd).';
    return fail(`${each}; it accepts ${limit.connections} connections at most. ${remedy}`);
  }
  if (!limit.isLow) return ok(each);
  return warn(`${each}. For more clients, raise the limit (ulimit -n, or LimitNOFILE of systemd).`);
}

function backlog(): Finding {
  const most = read('/proc/sys/net/core/somaxconn');
  if (most === undefined) return warn('net.core.somaxconn is unknown on this system');
  if (Number(most) >= MIN_BACKLOG) return ok(`net.core.somaxconn is ${most}`);
  return warn(
    `net.core.somaxconn is ${most}, so bursts of new connections are dropped. Run: sysctl net.core.somaxconn=${MIN_BACKLOG}`,
  );
}

function migration(): Finding {
  if (movesConnections()) return ok('net.ipv4.tcp_migrate_req is 1');
  return warn(
    'net.ipv4.tcp_migrate_req is not 1, so a reload may reset connections that are being established. ' +
      'Run: sysctl net.ipv4.tcp_migrate_req=1',
  );
}

function memory(workers: number): Finding {
  const limit = memoryLimit();
  const text = `${Math.round(limit / MIB)} MiB of memory for ${workers} workers`;
  if (limit / workers >= MIN_MEMORY_PER_WORKER) return ok(text);
  return warn(`${text} is little. Set WORKERS lower, or raise the memory limit.`);
}

/** A container may have less time than the machine has processors. */
function processors(workers: number): Finding {
  const allowed = processorLimit();
  const text = `${workers} workers on ${Math.round(allowed * 10) / 10} processors`;
  return workers <= Math.ceil(allowed) ? ok(text) : warn(`${text}. Set WORKERS to the number of processors.`);
}
