import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Disk } from '../../harness/servers/disk.js';
import { Postgres, whyNoPostgres } from '../../harness/servers/postgres.js';
import { SupervisedService } from '../support/supervised-service.js';
import { injectFaults } from './inject.js';

const WORKERS = 2;

/** Faults on one host: history in SQLite, archive in PostgreSQL. */
export async function faultsOnOneHost({ short, seed, times, minutes }) {
  const directory = mkdtempSync(join(tmpdir(), 'torture-'));
  execFileSync('chmod', ['755', directory]);
  const skipped = [];
  const without = whyNoPostgres();
  const postgres = without ? undefined : await Postgres.start(join(directory, 'postgres'));
  if (without) skipped.push({ name: 'archive down', value: `skipped: ${without}` });
  const disk = new Disk(join(directory, 'data'));
  if (disk.whyNotLimited) skipped.push({ name: 'disk full', value: `skipped: ${disk.whyNotLimited}` });
  const environment = { WORKERS: String(WORKERS), DATA_DIR: disk.path, DRAIN_TIMEOUT: '1s', HISTORY_TTL: '365d' };
  if (postgres) environment.ARCHIVE_URL = postgres.url;
  mkdirSync(join(directory, 'service'));
  let service;
  try {
    service = await SupervisedService.start({ directory: join(directory, 'service'), environment });
    const figures = await injectFaults({
      name: 'one host',
      faults: faultsOf(service, postgres, disk),
      ...{ short, seed, times, minutes },
      services: [service],
      urlOf: () => `http://127.0.0.1:${service.port}`,
    });
    return [...skipped, ...figures];
  } finally {
    await service?.stop();
    await postgres?.kill();
    disk.remove();
    rmSync(directory, { recursive: true, force: true });
  }
}

function faultsOf(service, postgres, disk) {
  const someWorker = (random) => service.workers[Math.floor(random() * service.workers.length)];
  const replaced = (pids) => service.untilReplaced(pids, WORKERS);
  let ahead = 0;

  const killWorker = async (random) => {
    const pid = someWorker(random);
    process.kill(pid, 'SIGKILL');
    await replaced([pid]);
  };
  const faults = [
    { name: 'worker killed', inject: killWorker },
    {
      name: 'worker stopped and resumed',
      inject: async (random) => {
        const pid = someWorker(random);
        process.kill(pid, 'SIGSTOP');
        await sleep(500 + random() * 1000);
        process.kill(pid, 'SIGCONT');
      },
    },
    {
      name: 'worker stopped for good',
      inject: async (random) => {
        const pid = someWorker(random);
        process.kill(pid, 'SIGSTOP');
        await replaced([pid]);
      },
    },
    {
      name: 'primary killed and restarted',
      inject: async () => {
        const { pid, workers } = service;
        service.signal('SIGKILL');
        while (service.pid === pid) await sleep(20);
        await replaced(workers);
      },
    },
    {
      name: 'rolling reload',
      inject: async () => {
        const { workers } = service;
        service.signal('SIGHUP');
        await replaced(workers);
      },
    },
    {
      name: 'clock set forward',
      inject: async () => {
        ahead += 600_000;
        writeFileSync(service.clock, String(ahead));
        await sleep(200);
      },
    },
    {
      name: 'log not read',
      inject: async (random) => {
        service.readLog(false);
        service.fillLog();
        await killWorker(random);
        await sleep(500);
        service.readLog(true);
      },
    },
    {
      name: 'log closed',
      inject: async (random) => {
        service.closeLog();
        await killWorker(random);
        service.openLog();
      },
    },
  ];
  if (postgres) {
    faults.push({
      name: 'archive down',
      inject: async () => {
        await postgres.kill();
        await sleep(500);
        await postgres.begin();
      },
    });
  }
  if (!disk.whyNotLimited) {
    faults.push({
      name: 'disk full',
      inject: async () => {
        disk.fill();
        await sleep(1000);
        disk.free();
      },
    });
  }
  return faults;
}
