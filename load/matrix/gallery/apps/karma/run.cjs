const { config, Server } = require('karma');

config.parseConfig(`${__dirname}/karma.conf.cjs`, null, { promiseConfig: true, throwErrors: true }).then((parsed) => {
  const server = new Server(parsed, (code) => process.exit(code));
  server.on('run_complete', (_, { success, failed, skipped, exitCode }) =>
    console.log(`RESULT ${JSON.stringify({ success, failed, skipped, exitCode })}`),
  );
  server.on('browser_log', (_, text) => console.log(`LOG ${text}`));
  server.start();
});
