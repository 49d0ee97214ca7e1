// Rules for names of objects, from which strategies choose their `validateName`. The texts come from apimachinery's
// validation.
import { dnsLabelErrors, dnsSubdomainErrors } from '@kapstan/api/errors';

/**
 * Returns messages, empty when the name is valid. `isPrefix`: the text is a generateName, to which a suffix is added.
 */
export type NameRule = (name: string, isPrefix: boolean) => readonly string[];

/** For most kinds: "example.com". Source: NameIsDNSSubdomain. */
export const nameIsDnsSubdomain: NameRule = (name, isPrefix) => dnsSubdomainErrors(unlessPrefix(name, isPrefix));

/** For namespaces, and services since 1.34: "my-name". Source: NameIsDNSLabel. */
export const nameIsDnsLabel: NameRule = (name, isPrefix) => dnsLabelErrors(unlessPrefix(name, isPrefix));

/** For events: anything that may be a path segment. Source: path.ValidatePathSegmentName. */
export const nameIsPathSegment: NameRule = (name, isPrefix) =>
  isPrefix ? pathSegmentCharacterErrors(name) : pathSegmentErrors(name);

/** Like {@link nameIsPathSegment}, but a prefix is checked as a name. Source: ValidateRBACName. */
export const nameIsWholePathSegment: NameRule = (name) => pathSegmentErrors(name);

const dns1035LabelFormat = '[a-z]([-a-z0-9]*[a-z0-9])?';
const dns1035Label = new RegExp(`^${dns1035LabelFormat}$`);

/**
 * Returns the reason why a text is not a DNS label that begins with a letter, such as "my-name". Source:
 * IsDNS1035Label.
 */
export function dns1035LabelErrors(text: string): string[] {
  const errors = Buffer.byteLength(text) > 63 ? ['must be no more than 63 characters'] : [];
  if (dns1035Label.test(text)) return errors;
  const rule =
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character";
  return [...errors, `${rule} (e.g. 'my-name',  or 'abc-123', regex used for validation is '${dns1035LabelFormat}')`];
}

/** Returns the reason why a text cannot be a segment of a URL path. */
export function pathSegmentErrors(name: string): string[] {
  if (name === '.' || name === '..') return [`may not be '${name}'`];
  return pathSegmentCharacterErrors(name);
}

function pathSegmentCharacterErrors(name: string): string[] {
  return ['/', '%'].filter((char) => name.includes(char)).map((char) => `may not contain '${char}'`);
}

/** A prefix may end in "-", because more follows. Source: maskTrailingDash. */
function unlessPrefix(name: string, isPrefix: boolean): string {
  return isPrefix && name.length > 1 && name.endsWith('-') ? `${name.slice(0, -2)}a` : name;
}

/** Segment before the namespace's name in an object's path. */
export const namespacesSegment = 'namespaces';
