// Whether an answer is still to come. Of what others wrote: a promise may be of another realm, as those of vm and Jest, or of a library.

/** Whether it has a `then`, as `await` looks for it. */
export function isPromiseLike<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof (value as PromiseLike<T> | null | undefined)?.then === 'function';
}
