// GoDefaults finds the defaults that a published definition has because of its Go type: members that Go always writes
// have a zero value, and so have the elements of lists and maps. The protobuf message of the definition shows which
// members are pointers. Used by openapi-schemas.ts. Source: kube-openapi generators/openapi.go (mustEnforceDefault).
import type { Message, MessageField } from '../schema/node/message.ts';
import type { ApiTypes } from '../schema/node/schema-node.ts';

type Json = Readonly<Record<string, unknown>>;

const zeros: ReadonlyMap<unknown, unknown> = new Map<unknown, unknown>([
  ['string', ''],
  ['integer', 0],
  ['number', 0],
  ['boolean', false],
]);

/** Types that may have any members and encode themselves. */
const writtenByThemselves: ReadonlySet<string> = new Set(['machinery/runtime.RawExtension', 'meta/v1.FieldsV1']);

export class GoDefaults {
  readonly #types: ApiTypes;

  constructor(types: ApiTypes) {
    this.#types = types;
  }

  /** Returns the default of a member with that schema; undefined if there is none. */
  ofMember(definition: string, name: string, schema: Json): unknown {
    const message = this.#messageOf(definition);
    if (message === undefined) return this.#isRequired(definition, name) ? this.ofElement(schema) : undefined;
    const { owner, field } = fieldNamed(message, name);
    const marked = owner === undefined ? undefined : this.#types.markedDefault(owner, name);
    if (marked !== undefined) return marked;
    if (field === undefined || field.shape !== 'single' || field.isOptional) return undefined;
    if (schema.$ref !== undefined) return this.#isStruct(schema.$ref as string) ? {} : undefined;
    return field.omitsAbsent || field.omitsZero || schema.format === 'byte' ? undefined : zeros.get(schema.type);
  }

  /** Returns the default of the elements of a list or map. */
  ofElement(schema: Json): unknown {
    if (schema.$ref !== undefined) return this.#isStruct(schema.$ref as string) ? {} : undefined;
    return schema.format === 'byte' ? undefined : zeros.get(schema.type);
  }

  /** Types that encode themselves, such as times and quantities, have no zero value in JSON. */
  #isStruct(definition: string): boolean {
    const raw = writtenByThemselves.has(definition) ? undefined : this.#types.rawSchema(definition);
    return raw !== undefined && (raw.properties !== undefined || raw.type === 'object');
  }

  #isRequired(definition: string, name: string): boolean {
    const required = this.#types.rawSchema(definition)?.required;
    return Array.isArray(required) && required.includes(name);
  }

  #messageOf(definition: string): Message | undefined {
    try {
      return this.#types.message(definition);
    } catch (error) {
      // Some definitions are never sent as protobuf.
      if (error instanceof TypeError) return undefined;
      throw error;
    }
  }
}

interface OwnedField {
  /** The definition to which the field itself belongs. */
  readonly owner?: string;
  readonly field?: MessageField;
}

/** Also searches embedded messages, whose members are in the JSON of their parent. */
function fieldNamed(message: Message | undefined, name: string): OwnedField {
  const place = message?.places.get(name);
  const field = place === undefined ? undefined : message?.fields[place];
  if (field === undefined || message === undefined) return {};
  return field.isInline ? fieldNamed(field.inner, name) : { owner: message.name, field };
}
