// Loaded before a server: its hub hangs once the file HANG_HUB exists.
const { existsSync, rmSync } = require('node:fs');
const { isMainThread, workerData } = require('node:worker_threads');

function hangOnce() {
  if (!existsSync(process.env.HANG_HUB)) return;
  rmSync(process.env.HANG_HUB);
  for (;;);
}

if (!isMainThread && workerData?.machine) setInterval(hangOnce, 20).unref();
