// TypeWriter: turns structural schemas into TypeScript. Each object with named properties becomes an interface; its name is made of the
// kind and the path to it. Used by generate-types.ts.
import { isJsonObject, type JsonObject, requiredObject } from '../source/json-object.ts';
import { demandsOf, descriptionOf, docComment } from './doc-comment.ts';
import { identifier, memberName, pascalCase, type UniqueNames } from './identifiers.ts';

/** Schemas nested deeper than this are refused; Kubernetes' own limit for the nesting of JSON is similar. */
const maxDepth = 200;

interface Place {
  /** Name for an interface. */
  readonly name: string;
  /** Path that errors show. */
  readonly path: string;
  readonly depth: number;
}

export class TypeWriter {
  readonly #names: UniqueNames;
  readonly #interfaces: string[] = [];

  constructor(names: UniqueNames) {
    this.#names = names;
  }

  /** All interfaces so far, in the order of their first mention. */
  get text(): string {
    return this.#interfaces.join('\n');
  }

  /** Writes the interface of a kind. `kind` has been reserved as a name. */
  writeKind(
    kind: string,
    schema: JsonObject,
    { path, doc }: { readonly path: string; readonly doc: readonly string[] },
  ): void {
    const { apiVersion: _version, kind: _kind, metadata, ...own } = membersOf(schema, path);
    const demands = [...demandsOf(schema), ...metadataDemands(metadata)];
    const keepsUnknown =
      schema['x-kubernetes-preserve-unknown-fields'] === true || schema.additionalProperties !== undefined;
    const comment = docComment([descriptionOf(schema), [...doc, ...demands]], '');
    const at = this.#reserve();
    const members = this.#members(own, { schema, keepsUnknown, place: { name: kind, path, depth: 0 } });
    this.#interfaces[at] = `${comment}export interface ${kind} extends kapstan.KubernetesObject {\n${members}}\n`;
  }

  #typeOf(schema: JsonObject, place: Place): string {
    if (place.depth > maxDepth) throw new Error(`${place.path}: the schema is nested more than ${maxDepth} deep`);
    const type = this.#valueOf(schema, place);
    return schema.nullable === true && !/(^|\| )null$/.test(type) ? `${type} | null` : type;
  }

  #valueOf(schema: JsonObject, place: Place): string {
    if (schema['x-kubernetes-int-or-string'] === true) return 'number | string';
    const literals = Array.isArray(schema.enum) ? literalsOf(schema.enum) : undefined;
    if (literals !== undefined) return literals;
    switch (schema.type) {
      case 'string':
      case 'boolean':
        return schema.type;
      case 'integer':
      case 'number':
        return 'number';
      case 'array':
        return this.#arrayOf(schema, place);
      case 'object':
        return this.#objectOf(schema, place);
      case undefined:
      case '':
        return schema['x-kubernetes-embedded-resource'] === true ? this.#objectOf(schema, place) : 'unknown';
      default:
        throw new Error(`${place.path}.type: Unsupported value: ${JSON.stringify(schema.type)}`);
    }
  }

  #arrayOf(schema: JsonObject, place: Place): string {
    const items = requiredObject(schema.items ?? {}, `${place.path}.items`);
    const item = this.#typeOf(items, { ...place, path: `${place.path}.items`, depth: place.depth + 1 });
    return item.includes(' ') ? `(${item})[]` : `${item}[]`;
  }

  #objectOf(schema: JsonObject, place: Place): string {
    const members = membersOf(schema, place.path);
    const keepsUnknown =
      schema['x-kubernetes-preserve-unknown-fields'] === true || schema.additionalProperties === true;
    const isEmbedded = schema['x-kubernetes-embedded-resource'] === true;
    if (Object.keys(members).length === 0 && !isEmbedded) {
      if (isJsonObject(schema.additionalProperties)) return this.#mapOf(schema.additionalProperties, place);
      return keepsUnknown ? '{ [key: string]: unknown }' : '{ [key: string]: never }';
    }
    return this.#interfaceOf(schema, { place, keepsUnknown, isEmbedded });
  }

  #mapOf(values: JsonObject, place: Place): string {
    const path = `${place.path}.additionalProperties`;
    return `{ [key: string]: ${this.#typeOf(values, { ...place, path, depth: place.depth + 1 })} }`;
  }

  #interfaceOf(
    schema: JsonObject,
    {
      place,
      keepsUnknown,
      isEmbedded,
    }: { readonly place: Place; readonly keepsUnknown: boolean; readonly isEmbedded: boolean },
  ): string {
    const name = this.#names.take(identifier(place.name));
    const at = this.#reserve();
    const { apiVersion: _version, kind: _kind, metadata: _metadata, ...others } = membersOf(schema, place.path);
    const own = isEmbedded ? others : membersOf(schema, place.path);
    const members = this.#members(own, { schema, keepsUnknown, place: { ...place, name } });
    const embedded = isEmbedded ? '  apiVersion: string;\n  kind: string;\n' : '';
    const comment = docComment([descriptionOf(schema), demandsOf(schema)], '');
    const heritage = isEmbedded ? ' extends kapstan.KubernetesObject' : '';
    this.#interfaces[at] = `${comment}export interface ${name}${heritage} {\n${embedded}${members}}\n`;
    return name;
  }

  /** Reserves the place of an interface whose parts are written first. */
  #reserve(): number {
    return this.#interfaces.push('') - 1;
  }

  #members(
    members: JsonObject,
    {
      schema,
      keepsUnknown,
      place,
    }: { readonly schema: JsonObject; readonly keepsUnknown: boolean; readonly place: Place },
  ): string {
    const required = Array.isArray(schema.required) ? schema.required : [];
    const lines = Object.keys(members)
      .sort()
      .map((key) => {
        const path = `${place.path}.properties[${key}]`;
        const member = requiredObject(members[key], path);
        const type = this.#typeOf(member, { name: `${place.name}${pascalCase(key)}`, path, depth: place.depth + 1 });
        return `${memberComment(member, type)}  ${memberName(key)}${required.includes(key) ? '' : '?'}: ${type};\n`;
      });
    return `${lines.join('')}${keepsUnknown ? '  [key: string]: unknown;\n' : ''}`;
  }
}

/** Returns the comment of a member. The demands of a named interface are left out, because its own comment has them. */
function memberComment(member: JsonObject, type: string): string {
  const isInterface = /^[A-Z_$][\w$]*$/.test(type) && !type.includes(' ');
  const demands = isInterface ? demandsOf({ default: member.default }) : demandsOf(member);
  return docComment([descriptionOf(member), [...demands, ...(isInterface ? [] : innerDemands(member))]], '  ');
}

/** Returns the demands of a schema on items and values that have no interface of their own. */
function innerDemands(schema: JsonObject): readonly string[] {
  const inner = [
    [schema.items, 'Each item'],
    [schema.additionalProperties, 'Each value'],
  ] as const;
  return inner.flatMap(([part, what]) => {
    if (!isJsonObject(part) || hasInterface(part)) return [];
    return [...demandsOf(part, what), ...innerDemands(part).map((line) => `${what}: ${line}`)];
  });
}

const hasInterface = (schema: JsonObject): boolean =>
  schema['x-kubernetes-embedded-resource'] === true ||
  (isJsonObject(schema.properties) && Object.keys(schema.properties).length > 0);

/** Kubernetes knows the type of metadata; a definition may only limit names further. */
function metadataDemands(metadata: unknown): readonly string[] {
  if (!isJsonObject(metadata) || !isJsonObject(metadata.properties)) return [];
  return Object.entries(metadata.properties).flatMap(([key, schema]) =>
    isJsonObject(schema) ? demandsOf(schema, `metadata.${key}`) : [],
  );
}

function membersOf(schema: JsonObject, path: string): JsonObject {
  return requiredObject(schema.properties ?? {}, `${path}.properties`);
}

/** Returns undefined for values that are not literals of a type, such as objects. */
function literalsOf(values: readonly unknown[]): string | undefined {
  if (values.length === 0 || values.some((value) => typeof value === 'object' && value !== null)) return undefined;
  const some = [...new Set(values)].filter((value) => value !== null);
  const sorted = some.length < values.length && values.includes(null) ? [...some, null] : some;
  return sorted.map((value) => JSON.stringify(value)).join(' | ');
}
