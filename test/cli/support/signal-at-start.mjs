// Loaded before gjallar: sends the primary a signal as soon as it handles signals, while it still loads its modules. A tool
// handles none, and gets it while it loads.
const { SIGNAL_AT_START: signal, NODE_UNIQUE_ID: worker } = process.env;
const send = () => process.kill(process.pid, signal);
// Timers are the first thing in a turn of the event loop.
if (worker === undefined && process.argv[2] === 'doctor') setTimeout(send);
else if (worker === undefined) {
  process.on('newListener', function listening(event) {
    if (event !== 'SIGHUP') return;
    process.off('newListener', listening);
    process.nextTick(send);
  });
}
