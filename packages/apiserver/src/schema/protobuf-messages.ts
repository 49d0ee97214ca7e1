// ProtobufMessages makes the tables of the messages behind the kinds of one source, each message once.
import { formatApiVersion, type GroupVersionKind, getOwn } from '@kapstan/api/internal';
import type { Message, MessageField, ValueType } from './node/message.ts';
import type { ProtobufField, SchemaSource } from './node/schema-source.ts';

const scalars: ReadonlySet<string> = new Set(['string', 'bool', 'int32', 'int64', 'double', 'bytes']);

/** Kinds of meta/v1 that are in the core group, some without a version. */
const unversioned = new Set(['Status', 'APIVersions', 'APIGroupList', 'APIGroup', 'APIResourceList']);

/** Returns the name of a kind's definition. */
type NameOf = (apiVersion: string, kind: string) => string | undefined;

export class ProtobufMessages {
  readonly #source: SchemaSource;
  readonly #nameOf: NameOf;
  readonly #messages = new Map<string, Message>();

  constructor(source: SchemaSource, nameOf: NameOf) {
    this.#source = source;
    this.#nameOf = nameOf;
  }

  /** Returns a message. Throws TypeError for a name that the source does not have. */
  named(name: string): Message {
    const known = this.#messages.get(name);
    if (known !== undefined) return known;
    const data = this.#source.protobuf();
    const rows = getOwn(data.messages, name) as Readonly<Record<string, ProtobufField>> | undefined;
    if (rows === undefined) throw new TypeError(`no protobuf message ${name}`);
    const fields = Object.entries(rows)
      .map(([fieldName, row]) => this.#field(fieldName, row))
      .sort((a, b) => a.number - b.number);
    const byNumber: MessageField[] = [];
    for (const field of fields) byNumber[field.number] = field;
    const form = getOwn(data.jsonForms, name) as { readonly json?: unknown } | undefined;
    const always = fields.filter((field) => !field.omitsAbsent);
    const message = { name, fields, places: placesOf(fields), byNumber, always, isList: form?.json === 'array' };
    this.#messages.set(name, message);
    return message;
  }

  /** Returns the message of a kind; undefined for custom resources and kinds without a protobuf form. */
  ofKind(kind: GroupVersionKind): Message | undefined {
    const name = this.#messageNameOf(kind);
    if (name === undefined || !Object.hasOwn(this.#source.protobuf().messages, name)) return undefined;
    return this.named(name);
  }

  #messageNameOf({ group, version, kind }: GroupVersionKind): string | undefined {
    if (group === 'meta.k8s.io') return `meta/${version}.${kind}`;
    if (group === '' && unversioned.has(kind)) return `meta/v1.${kind}`;
    if (group === 'apidiscovery.k8s.io') return `apidiscovery.${version}.${kind}`;
    const apiVersion = formatApiVersion({ group, version });
    return this.#source.messageKinds?.get(`${apiVersion}/${kind}`) ?? this.#nameOf(apiVersion, kind);
  }

  #field(
    fieldName: string,
    [number, typeName, label = '', flags = '', jsonName = fieldName]: ProtobufField,
  ): MessageField {
    const type = (scalars.has(typeName) ? typeName : 'message') as ValueType;
    const shape = label === 'r' ? 'repeated' : label === 'm' ? 'map' : 'single';
    const isPointer = flags.includes('p');
    const isStruct = shape === 'single' && !isPointer && type === 'message';
    const field: FieldParts = {
      number,
      name: jsonName === '' ? fieldName : jsonName,
      type,
      message: type === 'message' ? typeName : '',
      shape,
      tag: number * 8 + (shape === 'map' ? 2 : wireTypes[type]),
      isInline: flags.includes('i'),
      isOptional: isPointer || type === 'bytes',
      omitsZero: !isPointer && (flags.includes('o') || flags.includes('z')) && (!isStruct || flags.includes('z')),
      omitsAbsent: flags.includes('z') || (flags.includes('o') && !isStruct),
    };
    if (shape !== 'map') return new Field(field, this, undefined);
    const entry: FieldParts = { ...field, number: 2, shape: 'single', tag: 16 + wireTypes[type], omitsZero: false };
    return new Field(field, this, new Field(entry, this, undefined));
  }
}

type FieldParts = Omit<MessageField, 'inner' | 'entry'>;

/** Looks up its message on first use, because messages refer to themselves. */
class Field implements MessageField {
  readonly number: number;
  readonly name: string;
  readonly type: ValueType;
  readonly message: string;
  readonly shape: MessageField['shape'];
  readonly tag: number;
  readonly isInline: boolean;
  readonly isOptional: boolean;
  readonly omitsZero: boolean;
  readonly omitsAbsent: boolean;
  readonly entry: MessageField | undefined;
  readonly #messages: ProtobufMessages;
  #inner: Message | undefined;

  constructor(parts: FieldParts, messages: ProtobufMessages, entry: MessageField | undefined) {
    this.number = parts.number;
    this.name = parts.name;
    this.type = parts.type;
    this.message = parts.message;
    this.shape = parts.shape;
    this.tag = parts.tag;
    this.isInline = parts.isInline;
    this.isOptional = parts.isOptional;
    this.omitsZero = parts.omitsZero;
    this.omitsAbsent = parts.omitsAbsent;
    this.entry = entry;
    this.#messages = messages;
  }

  get inner(): Message {
    this.#inner ??= this.#messages.named(this.message);
    return this.#inner;
  }
}

function placesOf(fields: readonly MessageField[]): Map<string, number> {
  return new Map(
    fields.flatMap((field, place) => {
      const names = field.isInline ? [...field.inner.places.keys()] : [field.name];
      return names.map((name): [string, number] => [name, place]);
    }),
  );
}

const wireTypes: Readonly<Record<ValueType, number>> = {
  string: 2,
  bytes: 2,
  message: 2,
  bool: 0,
  int32: 0,
  int64: 0,
  double: 1,
};

/** True when two messages have the same fields under the same names on all levels, as versions of a kind often do. */
export function haveSameShape(a: Message, b: Message, seen: Set<string> = new Set()): boolean {
  const pair = `${a.name} ${b.name}`;
  if (a === b || seen.has(pair)) return true;
  seen.add(pair);
  return (
    a.fields.length === b.fields.length &&
    a.fields.every((field, place) => isSameField(field, b.fields[place] as MessageField, seen))
  );
}

function isSameField(a: MessageField, b: MessageField, seen: Set<string>): boolean {
  const isSame = a.number === b.number && a.name === b.name && a.type === b.type && a.shape === b.shape;
  return isSame && (a.type !== 'message' || haveSameShape(a.inner, b.inner, seen));
}
