// Checks the names in a definition that become parts of paths and of TypeScript. A definition may come from anywhere, so a name must not be
// able to leave the output directory or to add code. The rules are those by which API servers accept a definition.
import { dnsSubdomainErrors } from '@kapstan/api/errors';

const label = /^[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?$/;

/** Throws Error, which begins with the place, unless the name can be a group. */
export function requireGroup(group: string, place: string): void {
  const [problem] = dnsSubdomainErrors(group);
  if (problem !== undefined) throw new Error(`${place}: Invalid value: ${JSON.stringify(group)}: ${problem}`);
}

/** Throws Error, which begins with the place, unless the name is a DNS-1035 label, as versions and plurals are. */
export function requireLabel(name: string, place: string): void {
  if (label.test(name)) return;
  throw new Error(
    `${place}: Invalid value: ${JSON.stringify(name)}: a DNS-1035 label must consist of at most 63 lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character`,
  );
}

/** A kind is a label in lower case. */
export function requireKind(kind: string, place: string): void {
  if (!label.test(kind.toLowerCase())) requireLabel(kind, place);
}

/** Throws Error for a version whose file would replace the file with the whole definitions. */
export function requireVersion(version: string, place: string): void {
  requireLabel(version, place);
  if (version === 'definitions')
    throw new Error(`${place}: a version named "definitions" has no file: the whole definitions are in definitions.ts`);
}
