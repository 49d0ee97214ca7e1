// The name rule of kinds whose validation is declared in their Go types: a DNS subdomain, but its errors count bytes instead of
// characters.
import { type NameRule, nameIsDnsSubdomain, nameIsPathSegment } from '@kapstan/apiserver/internal';

/** The format k8s-long-name of validation-gen, which counts bytes. A generateName is not checked. */
export const nameIsLongName: NameRule = (name, isPrefix) =>
  isPrefix
    ? nameIsPathSegment(name, isPrefix)
    : nameIsDnsSubdomain(name, isPrefix).map((message) => message.replace(/characters$/, 'bytes'));
