/**
 * Replaced methods of objects that belong to Node.js or to the application, each for want of a hook. Checked against Node.js
 * 20.20, 22.23 and 24.21. `test/base/foreign-objects.test.ts` lists who replaces what.
 */
// biome-ignore lint/suspicious/noExplicitAny: a method of any object
type Method = (...args: any[]) => any;

/**
 * Replaces a method of an object, or of all objects of a prototype.
 * @param replacement gets the object, the arguments, and the method of before, which takes the arguments to pass on
 * @returns puts the method of before back
 */
export function replaceMethod<T extends object>(
  object: T,
  name: string,
  replacement: (self: T, args: unknown[], before: Method) => unknown,
): () => void {
  const methods = object as Record<string, Method>;
  const original = methods[name]!;
  methods[name] = function (this: T, ...args: unknown[]) {
    return replacement(this, args, (...passed) => original.apply(this, passed));
  };
  return () => {
    methods[name] = original;
  };
}
