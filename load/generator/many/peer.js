/** How to build and run `many.c`: see `harness/process/foreign.js`. */
export default {
  build: ['gcc', '-O2', '-std=gnu11', '-Wall', '-Wextra', '-Werror', '-o', 'target/many', 'many.c', '-lm'],
  run: ['target/many'],
};
