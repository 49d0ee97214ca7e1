// Recognises promises in results of foreign code. They may come from another realm, such as vm and Jest, or from a
// library.

/** True when the value has a `then`, which is how `await` recognises promises. */
export function isPromiseLike<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof (value as PromiseLike<T> | null | undefined)?.then === 'function';
}
