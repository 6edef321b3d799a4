// Loaded before an application: its worker waits 300 ms where others wait 30 s, as for the application to listen.
const { setTimeout } = globalThis;
globalThis.setTimeout = (act, ms, ...rest) => setTimeout(act, ms === 30_000 ? 300 : ms, ...rest);
