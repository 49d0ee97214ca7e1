// Checks the target of a call on one object before anything is sent. Without a name a DELETE would delete the whole
// collection and a GET would list it; the compiler lets that through from `any` and JavaScript. Used with
// resource-client.ts.

/** Throws TypeError unless given an object: not null, a string or a list. `what` names it, such as "a target". */
export function requireObject(value: unknown, what: string): void {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return;
  throw new TypeError(`${what} must be an object, not ${shown(value)}`);
}

/**
 * Throws TypeError for a target without a name, and for a name or namespace that is not a string or cannot be in a
 * path.
 */
export function requireTarget(target: unknown): void {
  requireObject(target, 'a target, such as { namespace, name },');
  const { name, namespace } = target as { readonly name?: unknown; readonly namespace?: unknown };
  // Source: client-go rest.Request.Name.
  if (name === undefined || name === null || name === '') throw new TypeError('resource name may not be empty');
  requireSegment('resource name', name);
  if (namespace !== undefined && namespace !== null && namespace !== '') requireSegment('namespace', namespace);
}

/**
 * Throws TypeError unless the text can be a path segment. Source: apimachinery path.IsValidPathSegmentName and
 * client-go rest.Request.
 */
export function requireSegment(what: string, segment: unknown): void {
  requireString(segment, what);
  const text = segment as string;
  const faults =
    text === '.' || text === '..'
      ? [`may not be '${text}'`]
      : ['/', '%'].filter((char) => text.includes(char)).map((char) => `may not contain '${char}'`);
  if (faults.length > 0) throw new TypeError(`invalid ${what} ${JSON.stringify(text)}: [${faults.join(' ')}]`);
}

/** Throws TypeError unless given a string. */
export function requireString(value: unknown, what: string): void {
  if (typeof value !== 'string') throw new TypeError(`${what} must be a string, not ${shown(value)}`);
}

/** Describes a value for errors, without its contents. */
export function shown(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'function') return 'a function';
  return typeof value === 'string'
    ? JSON.stringify(value)
    : typeof value === 'object' && value !== null
      ? 'an object'
      : String(value);
}
