// Shows the versions of a definition as Go prints them in an error: all members of its structs, in their order.

import type { DeepReadonly } from '@kapstan/api';
import { getOwn, isJsonObject, setOwn } from '@kapstan/api/internal';
import type { CustomResourceDefinitionVersion, JSONSchemaProps } from '@kapstan/kinds/apiextensions.k8s.io/v1';

type Fields = Readonly<Record<string, unknown>>;
type Form = (value: unknown) => unknown;
/** Name in Go, name in JSON, the value when unset, and the form of a value that is set. */
type Member = readonly [go: string, json: string, zero: unknown, form?: Form];

/** Source: the struct CustomResourceDefinitionVersion of the internal apiextensions package. */
export function goVersions(versions: DeepReadonly<CustomResourceDefinitionVersion[]>): readonly unknown[] {
  return versions.map((version) => goStruct(versionMembers, version as unknown as Fields));
}

/** Returns a schema in the same form. */
export function goSchema(value: DeepReadonly<JSONSchemaProps>): unknown {
  return schema(value);
}

/** Returns the items of a schema for a list in the same form. */
export function goItems(value: unknown): unknown {
  return schemaOrSchemas(value);
}

function goStruct(members: readonly Member[], value: Fields): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const [go, json, zero, form] of members) {
    const member = getOwn(value, json);
    result[go] = member === undefined || member === null ? zero : form === undefined ? member : form(member);
  }
  return result;
}

const structOf =
  (members: () => readonly Member[]): Form =>
  (value) =>
    isJsonObject(value) ? goStruct(members(), value) : value;
const listOf =
  (form: Form): Form =>
  (value) =>
    Array.isArray(value) ? value.map(form) : value;
const mapOf =
  (form: Form): Form =>
  (value) => {
    const result: Record<string, unknown> = {};
    if (!isJsonObject(value)) return value;
    for (const key of Object.keys(value).sort()) setOwn(result, key, form(value[key]));
    return result;
  };

const schema = structOf(() => schemaMembers);
const schemas = listOf(schema);
const schemaMap = mapOf(schema);
const schemaOrSchemas: Form = (value) => ({
  Schema: isJsonObject(value) ? schema(value) : null,
  JSONSchemas: Array.isArray(value) ? schemas(value) : null,
});
const schemaOrBoolean: Form = (value) =>
  isJsonObject(value) ? { Allows: true, Schema: schema(value) } : { Allows: value, Schema: null };
const schemaOrNames: Form = (value) =>
  Array.isArray(value) ? { Schema: null, Property: value } : { Schema: schema(value), Property: null };

const schemaMembers: readonly Member[] = [
  ['ID', 'id', ''],
  ['Schema', '$schema', ''],
  ['Ref', '$ref', null],
  ['Description', 'description', ''],
  ['Type', 'type', ''],
  ['Nullable', 'nullable', false],
  ['Format', 'format', ''],
  ['Title', 'title', ''],
  ['Default', 'default', null],
  ['Maximum', 'maximum', null],
  ['ExclusiveMaximum', 'exclusiveMaximum', false],
  ['Minimum', 'minimum', null],
  ['ExclusiveMinimum', 'exclusiveMinimum', false],
  ['MaxLength', 'maxLength', null],
  ['MinLength', 'minLength', null],
  ['Pattern', 'pattern', ''],
  ['MaxItems', 'maxItems', null],
  ['MinItems', 'minItems', null],
  ['UniqueItems', 'uniqueItems', false],
  ['MultipleOf', 'multipleOf', null],
  ['Enum', 'enum', null],
  ['MaxProperties', 'maxProperties', null],
  ['MinProperties', 'minProperties', null],
  ['Required', 'required', null],
  ['Items', 'items', null, schemaOrSchemas],
  ['AllOf', 'allOf', null, schemas],
  ['OneOf', 'oneOf', null, schemas],
  ['AnyOf', 'anyOf', null, schemas],
  ['Not', 'not', null, schema],
  ['Properties', 'properties', null, schemaMap],
  ['AdditionalProperties', 'additionalProperties', null, schemaOrBoolean],
  ['PatternProperties', 'patternProperties', null, schemaMap],
  ['Dependencies', 'dependencies', null, mapOf(schemaOrNames)],
  ['AdditionalItems', 'additionalItems', null, schemaOrBoolean],
  ['Definitions', 'definitions', null, schemaMap],
  ['ExternalDocs', 'externalDocs', null],
  ['Example', 'example', null],
  ['XPreserveUnknownFields', 'x-kubernetes-preserve-unknown-fields', null],
  ['XEmbeddedResource', 'x-kubernetes-embedded-resource', false],
  ['XIntOrString', 'x-kubernetes-int-or-string', false],
  ['XListMapKeys', 'x-kubernetes-list-map-keys', null],
  ['XListType', 'x-kubernetes-list-type', null],
  ['XMapType', 'x-kubernetes-map-type', null],
  ['XValidations', 'x-kubernetes-validations', null],
];

const scaleMembers: readonly Member[] = [
  ['SpecReplicasPath', 'specReplicasPath', ''],
  ['StatusReplicasPath', 'statusReplicasPath', ''],
  ['LabelSelectorPath', 'labelSelectorPath', null],
];

const subresourceMembers: readonly Member[] = [
  ['Status', 'status', null],
  ['Scale', 'scale', null, structOf(() => scaleMembers)],
];

const columnMembers: readonly Member[] = [
  ['Name', 'name', ''],
  ['Type', 'type', ''],
  ['Format', 'format', ''],
  ['Description', 'description', ''],
  ['Priority', 'priority', 0],
  ['JSONPath', 'jsonPath', ''],
];

const versionMembers: readonly Member[] = [
  ['Name', 'name', ''],
  ['Served', 'served', false],
  ['Storage', 'storage', false],
  ['Deprecated', 'deprecated', false],
  ['DeprecationWarning', 'deprecationWarning', null],
  ['Schema', 'schema', null, structOf(() => [['OpenAPIV3Schema', 'openAPIV3Schema', null, schema]])],
  ['Subresources', 'subresources', null, structOf(() => subresourceMembers)],
  ['AdditionalPrinterColumns', 'additionalPrinterColumns', null, listOf(structOf(() => columnMembers))],
  ['SelectableFields', 'selectableFields', null, listOf(structOf(() => [['JSONPath', 'jsonPath', '']]))],
];
