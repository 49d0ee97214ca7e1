// Annotations inside objects. Source: apimachinery api/validation ValidateAnnotations.
import { qualifiedNameErrors } from '@kapstan/api/errors';
import type { Field } from '@kapstan/apiserver/internal';

/** Errors are reported at the map itself. Keys are shown unchanged, and checked in lower case. */
export function validateAnnotationKeys(at: Field, annotations: Readonly<Record<string, string>> | undefined): void {
  for (const key of Object.keys(annotations ?? {})) at.invalidAll(key, qualifiedNameErrors(key.toLowerCase()));
}
