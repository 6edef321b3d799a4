// Loaded before gjallar: sends the primary a signal at the first thing that it does, while it still loads its modules.
const { SIGNAL_AT_START: signal, NODE_UNIQUE_ID: worker } = process.env;
const { setSourceMapsEnabled } = process;
if (worker === undefined) {
  process.setSourceMapsEnabled = (isEnabled) => {
    setSourceMapsEnabled.call(process, isEnabled);
    process.kill(process.pid, signal);
  };
}
