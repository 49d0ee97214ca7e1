// Computes a short key for the contents of OpenAPI documents about some resources. It is made from the input, because
// the documents are large and rarely requested. Used by openapi-documents.ts and swagger-documents.ts.
import { createHash } from 'node:crypto';
import { versionInfo } from '../discovery/version-info.ts';
import type { ResourceDefinition } from '../registry/definition/resource-definition.ts';

const known = new WeakMap<ResourceDefinition, string>();

/**
 * Returns a key in upper-case hexadecimal that changes with the documents' contents. `more`: other facts on which they
 * depend.
 */
export function contentKey(definitions: readonly ResourceDefinition[], more = ''): string {
  const hash = createHash('sha512').update(`${versionInfo.gitVersion} ${more}`);
  for (const definition of definitions) hash.update(keyOf(definition)).update('\n');
  return hash.digest('hex').toUpperCase();
}

/** A custom resource has a short key for its schema, which may be large. */
function keyOf(definition: ResourceDefinition): string {
  const present = known.get(definition);
  if (present !== undefined) return present;
  const { resource, kind, listKind, verbs, subresources, schema, isCustom, published } = definition;
  const parts = subresources.map(({ name, verbs: subVerbs }) => [name, subVerbs]);
  const said = published?.revision ?? (isCustom === true ? schema.raw : null);
  const key = JSON.stringify([resource, kind, listKind, verbs, parts, said]);
  known.set(definition, key);
  return key;
}
