import { clearTimeout, setTimeout } from './clock.js';

/**
 * Settles as a promise does, or as `late` does after a time: with what it returns or throws, by default with undefined.
 * What the promise does later has no effect.
 * @param ms Infinity for no such time
 */
export async function within<T, Late = undefined>(
  ms: number,
  promise: PromiseLike<T>,
  late?: () => Late,
): Promise<T | Late> {
  if (ms === Number.POSITIVE_INFINITY) return promise;
  let timer: NodeJS.Timeout | undefined;
  const time = new Promise<Late>((resolve, reject) => {
    timer = setTimeout(() => {
      try {
        resolve(late?.() as Late);
      } catch (error) {
        reject(error);
      }
    }, ms);
  });
  try {
    return await Promise.race([promise, time]);
  } finally {
    clearTimeout(timer);
  }
}
