module.exports = (config) =>
  config.set({
    basePath: __dirname,
    plugins: ['karma-jasmine', 'karma-chrome-launcher'],
    frameworks: ['jasmine'],
    files: ['spec.js'],
    browsers: ['Headless'],
    customLaunchers: { Headless: { base: 'ChromeHeadless', flags: ['--no-sandbox', '--disable-gpu'] } },
    reporters: [],
    logLevel: config.LOG_WARN,
    port: Number(process.env.PORT),
    hostname: process.env.HOST,
    listenAddress: process.env.HOST,
    singleRun: true,
  });
