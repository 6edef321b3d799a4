// A server that a benchmark only starts collects its garbage when it gets this signal, which does nothing otherwise.

/** Twice: what the first collection finalizes, the second can free. */
exports.collect = () => {
  globalThis.gc?.();
  globalThis.gc?.();
};

exports.SIGNAL = 'SIGWINCH';
process.on(exports.SIGNAL, exports.collect);
