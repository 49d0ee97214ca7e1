// What a call on one object must be given before anything is sent. Without a name a DELETE would be one of the whole
// collection, a GET a list; what the compiler lets through (`any`, JavaScript) is refused here. For resource-client.ts.

/** Throws TypeError for what is no object: null, a string, a list. `what` says where it stands, such as "a target". */
export function requireObject(value: unknown, what: string): void {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return;
  throw new TypeError(`${what} must be an object, not ${shown(value)}`);
}

/** Throws TypeError for a target of one object that has no name, or a name or namespace that is no string or cannot stand in a path. */
export function requireTarget(target: unknown): void {
  requireObject(target, 'a target, such as { namespace, name },');
  const { name, namespace } = target as { readonly name?: unknown; readonly namespace?: unknown };
  // Source: client-go rest.Request.Name.
  if (name === undefined || name === null || name === '') throw new TypeError('resource name may not be empty');
  requireSegment('resource name', name);
  if (namespace !== undefined && namespace !== null && namespace !== '') requireSegment('namespace', namespace);
}

/** Throws TypeError for what is no part of a path. Source: apimachinery path.IsValidPathSegmentName and client-go rest.Request. */
export function requireSegment(what: string, segment: unknown): void {
  requireString(segment, what);
  const text = segment as string;
  const faults =
    text === '.' || text === '..'
      ? [`may not be '${text}'`]
      : ['/', '%'].filter((char) => text.includes(char)).map((char) => `may not contain '${char}'`);
  if (faults.length > 0) throw new TypeError(`invalid ${what} ${JSON.stringify(text)}: [${faults.join(' ')}]`);
}

/** Throws TypeError for what is no string. */
export function requireString(value: unknown, what: string): void {
  if (typeof value !== 'string') throw new TypeError(`${what} must be a string, not ${shown(value)}`);
}

/** For errors: what it is, without what it holds. */
export function shown(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'function') return 'a function';
  return typeof value === 'string'
    ? JSON.stringify(value)
    : typeof value === 'object' && value !== null
      ? 'an object'
      : String(value);
}
