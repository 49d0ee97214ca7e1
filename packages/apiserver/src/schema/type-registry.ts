// TypeRegistry: everything that the server uses of the types of one source, each made on first use. A package with
// kinds makes one; the nodes of its schemas refer to it, so a resource's definition includes it.
import {
  formatApiVersion,
  type GroupVersionKind,
  getOwn,
  parseApiVersion,
  type SlicedWork,
} from '@kapstan/api/internal';
import { DefinitionSchemas } from './definition-schemas.ts';
import { GoForms, normalizeGoForm, normalizeGoFormInSlices, zeroGoForm } from './go/go-form.ts';
import type { EmptyKeeping } from './node/kept-empties.ts';
import type { Message } from './node/message.ts';
import type { ApiTypes, SchemaNode } from './node/schema-node.ts';
import type { RawSchema, SchemaData, SchemaSource, TypeDescription } from './node/schema-source.ts';
import { ProtobufMessages } from './protobuf-messages.ts';

export class TypeRegistry implements ApiTypes {
  readonly #source: SchemaSource;
  readonly #schemas: DefinitionSchemas;
  readonly #forms: GoForms;
  readonly #messages: ProtobufMessages;
  #kinds: ReadonlyMap<string, readonly unknown[]> | undefined;

  /** Reads nothing until it is first used. */
  constructor(source: SchemaSource) {
    this.#source = source;
    this.#schemas = new DefinitionSchemas(source, this);
    this.#forms = new GoForms(source);
    this.#messages = new ProtobufMessages(source, (apiVersion, kind) => this.nameOf(apiVersion, kind));
  }

  nameOf(apiVersion: string, kind: string): string | undefined {
    return this.#schemas.nameOf(apiVersion, kind);
  }

  schema(definition: string): SchemaNode {
    return this.#schemas.node(definition);
  }

  schemaOfKind(apiVersion: string, kind: string): SchemaNode | undefined {
    const name = this.nameOf(apiVersion, kind);
    return name === undefined ? undefined : this.schema(name);
  }

  isRetired(kind: GroupVersionKind): boolean {
    return this.#source.retiredKinds?.get(formatApiVersion(kind))?.includes(kind.kind) === true;
  }

  normalize(definition: string, object: Record<string, unknown>, keeping?: EmptyKeeping): void {
    normalizeGoForm(this.#forms.of(definition), object, keeping);
  }

  normalizeInSlices(definition: string, object: Record<string, unknown>, keeping?: EmptyKeeping): SlicedWork<void> {
    return normalizeGoFormInSlices(this.#forms.of(definition), object, keeping);
  }

  zero(definition: string): Record<string, unknown> {
    return zeroGoForm(this.#forms.of(definition));
  }

  message(name: string): Message {
    return this.#messages.named(name);
  }

  messageOfKind(kind: GroupVersionKind): Message | undefined {
    return this.#messages.ofKind(kind);
  }

  rawSchema(definition: string): RawSchema | undefined {
    return getOwn(this.#source.schemas().definitions, definition) as RawSchema | undefined;
  }

  markedDefault(definition: string, member: string): unknown {
    return this.#source.markedDefaults?.get(`${definition}.${member}`);
  }

  describe(definition: string): TypeDescription | undefined {
    const known = this.#source.descriptions?.();
    return known === undefined ? undefined : (getOwn(known, definition) as TypeDescription | undefined);
  }

  publishedName(definition: string): string {
    const { prefixes } = this.#source.schemas();
    for (const [short, [full]] of Object.entries(prefixes)) {
      if (short !== '' && definition.startsWith(short)) return `${full}${definition.slice(short.length)}`;
    }
    return `${prefixes['']?.[0] ?? ''}${definition}`;
  }

  kindsOf(definition: string): readonly unknown[] | undefined {
    this.#kinds ??= kindsByDefinition(this.#source.schemas());
    return this.#kinds.get(definition);
  }
}

function kindsByDefinition(data: SchemaData): ReadonlyMap<string, readonly unknown[]> {
  const kinds = new Map<string, unknown[]>();
  const note = (definition: string, apiVersion: string, kind: string): void => {
    const { group, version } = parseApiVersion(apiVersion);
    kinds.set(definition, [...(kinds.get(definition) ?? []), { group, kind, version }]);
  };
  for (const [id, definition] of Object.entries(data.kinds)) {
    const at = id.lastIndexOf('/');
    note(definition, id.slice(0, at), id.slice(at + 1));
  }
  for (const [kind, { schema, groupVersions }] of Object.entries(data.kindsInManyGroupVersions)) {
    for (const apiVersion of groupVersions) note(schema, apiVersion, kind);
  }
  return kinds;
}
