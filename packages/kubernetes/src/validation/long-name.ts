// Names of the kinds whose validation is declared in their types: the same rule, told in other words.
import { type NameRule, nameIsDnsSubdomain, nameIsPathSegment } from '@kapstan/apiserver/internal';

/** Source: the format k8s-long-name of validation-gen, which counts bytes. What a name is made from is not looked at. */
export const nameIsLongName: NameRule = (name, isPrefix) =>
  isPrefix
    ? nameIsPathSegment(name, isPrefix)
    : nameIsDnsSubdomain(name, isPrefix).map((message) => message.replace(/characters$/, 'bytes'));
