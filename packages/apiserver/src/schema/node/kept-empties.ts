// Empty lists and maps of a Go object. Kubernetes' defaults and validation see those that a client sent, and the stored
// object lacks them. go-form.ts keeps or drops them; decoded-empties.ts restores dropped ones for validation.

/** Selects the empty lists and maps that a Go form keeps. */
export interface EmptyKeeping {
  /** 'all' = those of every field; 'required' = those of fields without omitempty, which JSON shows. */
  readonly fields: 'all' | 'required';
  /** Becomes true when the object has one that is kept. */
  found: boolean;
}

/** Lists and maps that compare as equal to an absent member, because the stored form does not distinguish them. */
const kept = new WeakSet<object>();

/** Marks an empty list or map as equal to an absent member, and returns it. */
export function keptEmpty<T extends object>(value: T): T {
  kept.add(value);
  return value;
}

/** True for a marked list or map that is still empty. */
export function isKeptEmpty(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || !kept.has(value)) return false;
  return Array.isArray(value) ? value.length === 0 : Object.keys(value).length === 0;
}
