// Loaded before artillery, which tells its makers about every run, and with ARTILLERY_DISABLE_TELEMETRY still tells them
// that there was one. Without its client for that it does not.
const client = require.resolve('posthog-node');
require.cache[client] = { id: client, filename: client, loaded: true, exports: {} };
