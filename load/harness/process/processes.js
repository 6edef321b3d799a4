// CPU, memory and descendants of processes, by the functions of `gjallar compare`. Needs npm run build.
export * from '../../../build/cli/compare/server/processes.js';
