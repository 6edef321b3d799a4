/**
 * For pm2: `pm2 start ecosystem.config.js`.
 *
 * Fork mode and one instance, because the server forks its workers itself: in cluster mode pm2 would be the cluster's
 * primary, and ours would have nowhere to run.
 */
const config = {
  apps: [
    {
      name: 'gjallar',
      script: 'dist/main.js',
      exec_mode: 'fork',
      instances: 1,
      // The primary reports when all workers listen.
      wait_ready: true,
      listen_timeout: 30_000,
      // SIGINT stops everything in order; this is how long it may take, in ms: longer than DRAIN_TIMEOUT.
      kill_timeout: 25_000,
    },
  ],
};

// pm2 loads this file with require(), which gives what is exported under this name.
export { config as 'module.exports' };
