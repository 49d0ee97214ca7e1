// The rule for names of kinds whose validation is declared in their types: the same rule with another text.
import { type NameRule, nameIsDnsSubdomain, nameIsPathSegment } from '@kapstan/apiserver/internal';

/** The format k8s-long-name of validation-gen, which counts bytes. A generateName is not checked. */
export const nameIsLongName: NameRule = (name, isPrefix) =>
  isPrefix
    ? nameIsPathSegment(name, isPrefix)
    : nameIsDnsSubdomain(name, isPrefix).map((message) => message.replace(/characters$/, 'bytes'));
