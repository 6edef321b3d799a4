const bs = require('browser-sync').create();

bs.init({
  server: `${__dirname}/site`,
  port: Number(process.env.PORT),
  host: process.env.HOST,
  listen: process.env.HOST,
  files: [`${__dirname}/site/*`],
  open: false,
  ui: false,
  notify: false,
  logLevel: 'silent',
});
