// Rules for the names of a definition: the requested names in its spec and the accepted names in its status.
import type { DeepReadonly } from '@kapstan/api';
import type { Field } from '@kapstan/apiserver/internal';
import { dns1035LabelErrors } from '@kapstan/apiserver/internal';
import type { CustomResourceDefinitionNames } from '@kapstan/kinds/apiextensions.k8s.io/v1';

/** Names that are present must be well formed. Source: ValidateCustomResourceDefinitionNames. */
export function validateNames(at: Field, names: DeepReadonly<CustomResourceDefinitionNames> | undefined): void {
  if (names === undefined) return;
  const { plural, singular, kind, listKind, shortNames = [], categories = [] } = names;
  const label = (field: Field, text: string | undefined): void => {
    if (text) joined(field, text, dns1035LabelErrors(text));
  };
  const mixedCase = (field: Field, text: string | undefined): void => {
    const errors = text ? dns1035LabelErrors(text.toLowerCase()) : [];
    if (errors.length > 0) field.invalid(text, `may have mixed case, but should otherwise match: ${errors.join(',')}`);
  };
  label(at.child('plural'), plural);
  label(at.child('singular'), singular);
  mixedCase(at.child('kind'), kind);
  mixedCase(at.child('listKind'), listKind);
  at.child('shortNames').each(shortNames, (name, field) => joined(field, name, dns1035LabelErrors(name)));
  if (kind && kind === listKind) at.child('listKind').invalid(listKind, 'kind and listKind may not be the same');
  at.child('categories').each(categories, (name, field) => joined(field, name, dns1035LabelErrors(name)));
}

/** Reports several messages as one error. */
function joined(at: Field, value: string, errors: readonly string[]): void {
  if (errors.length > 0) at.invalid(value, errors.join(','));
}
