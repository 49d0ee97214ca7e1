// The headers by which this server tells another API server on whose behalf a request is made. Source: client-go
// transport (SetAuthProxyHeaders, headerKeyEscape).
import type { UserInfo } from '../registry/definition/request-context.ts';

type HeaderList = readonly (readonly [name: string, value: string])[];

/** Returns the headers of a user. Throws TypeError for a value that no header can carry. */
export function identityHeaders({ name, uid = '', groups, extra = {} }: UserInfo): HeaderList {
  const pairs: (readonly [string, string])[] = [['X-Remote-User', name]];
  if (uid !== '') pairs.push(['X-Remote-Uid', uid]);
  for (const group of groups) pairs.push(['X-Remote-Group', group]);
  for (const [key, values] of Object.entries(extra)) {
    for (const value of values) pairs.push([`X-Remote-Extra-${escapeKey(key)}`, value]);
  }
  return pairs.map(([header, value]) => [header, headerValue(header, value)]);
}

/** Bytes of UTF-8 travel as they are; node:http takes them as one character each. */
function headerValue(header: string, value: string): string {
  // A line break in a name would let its owner add headers and become anyone.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that no header may have
  if (/[\x00-\x08\x0a-\x1f\x7f]/.test(value))
    throw new TypeError(`net/http: invalid header field value for "${header}"`);
  return Buffer.from(value).toString('latin1');
}

/** Escapes characters that may not be in the name of a header, and "%". */
function escapeKey(key: string): string {
  return Buffer.from(key)
    .toString('latin1')
    .replace(
      /[^!#$&'*+\-.^_`|~0-9A-Za-z]/g,
      (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
    );
}
