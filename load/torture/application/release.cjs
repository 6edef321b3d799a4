// Loaded before each process of the server: the release whose fault is in the file that RELEASE names. Each worker reads
// it at its start. `at` is the time in ms after it has reported that it listens; undefined is at the start.

const { readFileSync } = require('node:fs');

const worker = require('node:cluster').worker?.id;
if (worker) {
  const { fault, at, onlyOdd } = JSON.parse(readFileSync(process.env.RELEASE, 'utf8'));
  const faults = {
    none: () => {},
    exit: () => process.exit(3),
    exception: () => {
      throw new Error('this release throws');
    },
    killed: () => process.kill(process.pid, 'SIGKILL'),
    crash: () => process.kill(process.pid, 'SIGSEGV'),
    hangs: () => {
      for (;;);
    },
  };
  const begin = onlyOdd && worker % 2 === 0 ? faults.none : faults[fault];
  if (at === undefined) begin();
  const { send } = process;
  process.send = function (message, ...rest) {
    if (message?.gjallar?.type === 'listening' && at !== undefined) setTimeout(begin, at);
    return send.call(this, message, ...rest);
  };
}
