// The fuzzer loads this into the service's processes: it reports what a worker holds after a garbage collection.

import cluster from 'node:cluster';
import { createServer } from 'node:net';
import { join } from 'node:path';

if (cluster.isWorker) {
  const server = createServer((socket) => {
    globalThis.gc();
    const timers = process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
    const { heapUsed, rss } = process.memoryUsage();
    socket.end(JSON.stringify({ timers, heap: heapUsed, rss }));
  });
  // This server is not counted, and does not keep the worker alive.
  server.listen(join(process.env.DATA_DIR, `resources-${process.pid}.sock`));
  server.unref();
}
