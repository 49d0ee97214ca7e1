// Finds repetitions in a list in the order of its items, without a separate pass over all items first.

/** Returns a function that returns true when it was called with an equal value before. */
export function repetitions<T>(): (value: T) => boolean {
  const seen = new Set<T>();
  return (value) => {
    if (seen.has(value)) return true;
    seen.add(value);
    return false;
  };
}
