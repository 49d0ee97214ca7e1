// Rules for the spec of a CustomResourceDefinition. Errors name fields as Kubernetes' internal form does, which keeps
// the parts that all versions share in the spec itself ("spec.validation.openAPIV3Schema"). Source:
// validateCustomResourceDefinitionSpec.
import type { DeepReadonly } from '@kapstan/api';
import { dnsSubdomainErrors } from '@kapstan/api/errors';
import { isJsonObject } from '@kapstan/api/internal';
import type { Field } from '@kapstan/apiserver/internal';
import { dns1035LabelErrors } from '@kapstan/apiserver/internal';
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionSpec,
  CustomResourceDefinitionVersion,
  CustomResourceValidation,
} from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { PastRules } from '../rules/past-rules.ts';
import { validateColumns } from './column-validation.ts';
import { validateConversion } from './conversion-validation.ts';
import { goVersions } from './go-versions.ts';
import { type HoistedSpec, hoistSpec } from './hoisted-spec.ts';
import { validateNames } from './names-validation.ts';
import { type SchemaContext, validateRootSchema } from './schema-validation.ts';
import { validateSelectableFields } from './selectable-field-validation.ts';
import { validateSubresources } from './subresource-validation.ts';

type Spec = DeepReadonly<CustomResourceDefinitionSpec>;
type Version = DeepReadonly<CustomResourceDefinitionVersion>;

/** `old`: the definition before an update. */
export function validateSpec(at: Field, spec: Spec, old?: DeepReadonly<CustomResourceDefinition>): void {
  const hoisted = hoistSpec(spec);
  const past = new PastRules(spec, old?.spec);
  validateGroup(at.child('group'), spec.group);
  if (!spec.scope) at.child('scope').required();
  else at.child('scope').oneOf(spec.scope, ['Cluster', 'Namespaced']);
  requireSchemas(at, hoisted);
  at.child('versions').each(hoisted.versions, (version, field) => {
    const subresources = version.subresources ?? hoisted.shared.subresources;
    validateVersion(field, version, contextOf(past, version.name, subresources?.status !== undefined));
  });
  validateVersionSet(at, hoisted.versions, spec.versions);
  requireNames(at.child('names'), spec.names);
  validateNames(at.child('names'), spec.names);
  validateShared(at, hoisted, past);
  if (spec.preserveUnknownFields === true) refuseWithUnknownFields(at, spec);
  validateConversion(at.child('conversion'), spec.conversion, old);
}

/** Refuses the fields that a definition cannot have when it keeps all unknown fields. */
function refuseWithUnknownFields(at: Field, { versions, conversion }: Spec): void {
  if (versions?.some(({ schema }) => hasDefaults(schema?.openAPIV3Schema))) {
    at.child('preserveUnknownFields').invalid(true, 'must be false in order to use defaults in the schema');
  }
  const strategy = conversion?.strategy ?? 'None';
  if (strategy !== 'None') {
    at.child('conversion', 'strategy').invalid(strategy, 'must be None if spec.preserveUnknownFields is true');
  }
}

/** True when a schema, or one in it, has a default. Values of other keywords are not schemas. */
function hasDefaults(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.some(hasDefaults);
  if (!isJsonObject(schema)) return false;
  if (schema.default !== undefined && schema.default !== null) return true;
  return (
    schemaWords.some((word) => hasDefaults(schema[word])) || schemaMaps.some((word) => anyHasDefaults(schema[word]))
  );
}

const schemaWords = ['items', 'allOf', 'anyOf', 'oneOf', 'not', 'additionalProperties', 'additionalItems'] as const;
const schemaMaps = ['properties', 'patternProperties', 'definitions', 'dependencies'] as const;

function anyHasDefaults(schemas: unknown): boolean {
  return isJsonObject(schemas) && Object.values(schemas).some(hasDefaults);
}

function validateGroup(at: Field, group: string): void {
  if (!at.present(group)) return;
  const errors = dnsSubdomainErrors(group);
  if (errors.length > 0) at.invalid(group, errors.join(','));
  else if (!group.includes('.')) at.invalid(group, 'should be a domain with at least one dot');
}

function requireSchemas(at: Field, { shared, versions }: HoistedSpec): void {
  if (shared.schema?.openAPIV3Schema !== undefined) return;
  at.child('versions').each(versions, (version, field) => {
    if (version.schema?.openAPIV3Schema === undefined) field.child('schema', 'openAPIV3Schema').required();
  });
}

/** Checks the parts of one version. */
function validateVersion(at: Field, version: Version, context: SchemaContext): void {
  const errors = dns1035LabelErrors(version.name);
  if (errors.length > 0) at.child('name').invalid(version.name, errors.join(','));
  validateDeprecationWarning(at.child('deprecationWarning'), version);
  validateSchema(at.child('schema'), version.schema, context);
  validateSubresources(at.child('subresources'), version.subresources);
  validateColumns(at.child('additionalPrinterColumns'), version.additionalPrinterColumns);
  validateSelectableFields(at.child('selectableFields'), version.selectableFields, version.schema?.openAPIV3Schema);
}

/** Checks the parts above the versions. */
function validateShared(at: Field, { shared, versions }: HoistedSpec, past: PastRules): void {
  const all = [shared, ...versions];
  const hasStatus = all.some(({ subresources }) => subresources?.status !== undefined);
  validateSchema(at.child('validation'), shared.schema, contextOf(past, versions[0]?.name ?? '', hasStatus));
  validateSubresources(at.child('subresources'), shared.subresources);
  validateColumns(at.child('additionalPrinterColumns'), shared.additionalPrinterColumns);
  const schema = shared.schema ?? versions[0]?.schema;
  validateSelectableFields(at.child('selectableFields'), shared.selectableFields, schema?.openAPIV3Schema);
}

function validateSchema(
  at: Field,
  validation: DeepReadonly<CustomResourceValidation> | undefined,
  context: SchemaContext,
): void {
  const schema = validation?.openAPIV3Schema;
  if (schema !== undefined) validateRootSchema(at.child('openAPIV3Schema'), schema, context);
}

function contextOf(past: PastRules, version: string, hasStatus: boolean): SchemaContext {
  return { hasStatus, known: past, isUnchanged: past.isUnchanged(version) };
}

function validateVersionSet(at: Field, versions: HoistedSpec['versions'], asked: Spec['versions'] | undefined): void {
  const list = at.child('versions');
  const names = versions.map(({ name }) => name);
  const shown = asked === undefined || asked === null ? null : goVersions(versions);
  if (new Set(names).size < names.length) list.invalid(shown, 'must contain unique version names');
  if (versions.filter(({ storage }) => storage).length !== 1) {
    list.invalid(shown, 'must have exactly one version marked as storage version');
  }
  const [first] = names;
  const errors = first ? dns1035LabelErrors(first) : [];
  if (errors.length > 0) at.child('version').invalid(first, errors.join(','));
}

function requireNames(at: Field, names: Spec['names']): void {
  for (const key of ['plural', 'singular', 'kind', 'listKind'] as const) at.child(key).present(names[key]);
}

const maxWarningBytes = 256;

/** Source: validateDeprecationWarning. */
function validateDeprecationWarning(at: Field, { deprecated, deprecationWarning: text }: Version): void {
  if (text === undefined || text === null) return;
  // Errors show a text that is a pointer in Go as JSON.
  const shown = { toJSON: () => text };
  if (deprecated !== true) return at.invalid(shown, 'can only be set for deprecated versions');
  if (Buffer.byteLength(text) > maxWarningBytes) at.invalid(shown, `must be <= ${maxWarningBytes} characters long`);
  if (text === '') at.invalid(shown, 'must not be an empty string');
  const unprintable = [...text].findIndex((char) => !/^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u.test(char));
  if (unprintable >= 0) {
    const what = `non-printable character found at index ${unprintable}`;
    at.invalid(shown, `must only contain printable UTF-8 characters; ${what}`);
  }
}
