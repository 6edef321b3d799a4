import { afterAll, beforeAll } from '@jest/globals';

/** Opens something before the first test of the block, and closes it after the last one. Only tests and hooks can use it. */
export function shared<T extends object>(open: () => Promise<T>, close: (opened: T) => unknown): T {
  let opened: T | undefined;
  beforeAll(async () => {
    opened = await open();
  });
  afterAll(async () => {
    if (opened) await close(opened);
  });
  return new Proxy({} as T, {
    get: (_target, name) => {
      const value = Reflect.get(opened!, name, opened);
      return typeof value === 'function' ? value.bind(opened) : value;
    },
  });
}
