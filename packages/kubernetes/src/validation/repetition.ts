// What stood in a list before: asked for each item of it in order, without a look at all items before it.

/** Returns a function that tells whether it was called with an equal value before. */
export function repetitions<T>(): (value: T) => boolean {
  const seen = new Set<T>();
  return (value) => {
    if (seen.has(value)) return true;
    seen.add(value);
    return false;
  };
}
