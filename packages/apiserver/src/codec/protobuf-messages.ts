// Tables of the protobuf messages behind the built-in kinds, made from the facts once per message.
import { formatApiVersion, type GroupVersionKind, getOwn } from '@kapstan/api/internal';
import { type ProtobufField, protobufFacts } from '@kapstan/kinds/facts';
import { builtinDefinitionName } from '../schema/builtin-schemas.ts';

/** How one value stands on the wire: a scalar, a message, or one of the messages whose JSON is not the object of its fields. */
type ValueType = 'string' | 'bool' | 'int32' | 'int64' | 'double' | 'bytes' | 'message';

export interface MessageField {
  readonly number: number;
  /** Name in the JSON of the object. Never one of Object.prototype. */
  readonly name: string;
  readonly type: ValueType;
  /** The message behind the type "message". */
  readonly message: string;
  readonly shape: 'single' | 'repeated' | 'map';
  /** Number and wire type of a single value, as they stand on the wire. */
  readonly tag: number;
  /** The message's members lie directly in the parent's JSON. */
  readonly isInline: boolean;
  /** A single value that may be absent on the wire; others are always written. */
  readonly isOptional: boolean;
  /** A scalar that the JSON has only when it is not the zero value. */
  readonly omitsZero: boolean;
  /** Left out of the JSON when it is not on the wire. Others are null there, or their zero value. */
  readonly omitsAbsent: boolean;
  /** Of a map: the value in each entry. */
  readonly entry?: MessageField;
}

export interface Message {
  readonly name: string;
  /** In rising order of their numbers. */
  readonly fields: readonly MessageField[];
  /** Where a member of the JSON stands in `fields`; members of inlined messages where these do. */
  readonly places: ReadonlyMap<string, number>;
  /** At its number, each. */
  readonly byNumber: readonly (MessageField | undefined)[];
  /** Fields that the JSON has even when the wire does not. */
  readonly always: readonly MessageField[];
  /** Its JSON is the list of its only field: meta/v1 Verbs, ExtraValue. */
  readonly isList: boolean;
}

const messages = new Map<string, Message>();
const scalars: ReadonlySet<string> = new Set(['string', 'bool', 'int32', 'int64', 'double', 'bytes']);

/** Throws TypeError for a name that the facts do not have. */
export function messageNamed(name: string): Message {
  const known = messages.get(name);
  if (known !== undefined) return known;
  const facts = getOwn(protobufFacts().messages, name) as Readonly<Record<string, ProtobufField>> | undefined;
  if (facts === undefined) throw new TypeError(`no protobuf message ${name}`);
  const fields = Object.entries(facts)
    .map(([fieldName, field]) => messageField(fieldName, field))
    .sort((a, b) => a.number - b.number);
  const byNumber: MessageField[] = [];
  for (const field of fields) byNumber[field.number] = field;
  const form = getOwn(protobufFacts().jsonForms, name) as { readonly json?: unknown } | undefined;
  const always = fields.filter((field) => !field.omitsAbsent);
  const message = { name, fields, places: placesOf(fields), byNumber, always, isList: form?.json === 'array' };
  messages.set(name, message);
  return message;
}

/** Kinds of meta/v1 that stand in the core group, some without a version. */
const unversioned = new Set(['Status', 'APIVersions', 'APIGroupList', 'APIGroup', 'APIResourceList']);

/** The message of a kind; undefined for custom resources and what has no protobuf form. */
export function messageOfKind(kind: GroupVersionKind): Message | undefined {
  const name = messageNameOf(kind);
  if (name === undefined || !Object.hasOwn(protobufFacts().messages, name)) return undefined;
  return messageNamed(name);
}

function messageNameOf({ group, version, kind }: GroupVersionKind): string | undefined {
  if (group === 'meta.k8s.io') return `meta/${version}.${kind}`;
  if (group === '' && unversioned.has(kind)) return `meta/v1.${kind}`;
  if (group === 'apidiscovery.k8s.io') return `apidiscovery.${version}.${kind}`;
  // Kept in stores, but not served.
  if (group === '' && kind === 'RangeAllocation') return `core.${version}.${kind}`;
  return builtinDefinitionName(formatApiVersion({ group, version }), kind);
}

function placesOf(fields: readonly MessageField[]): Map<string, number> {
  return new Map(
    fields.flatMap((field, place) => {
      const names = field.isInline ? [...messageNamed(field.message).places.keys()] : [field.name];
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

function messageField(
  fieldName: string,
  [number, typeName, label = '', flags = '', jsonName = fieldName]: ProtobufField,
): MessageField {
  const type = (scalars.has(typeName) ? typeName : 'message') as ValueType;
  const shape = label === 'r' ? 'repeated' : label === 'm' ? 'map' : 'single';
  const isPointer = flags.includes('p');
  const isStruct = shape === 'single' && !isPointer && type === 'message';
  const field: MessageField = {
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
  if (shape !== 'map') return field;
  const entry: MessageField = { ...field, number: 2, shape: 'single', tag: 16 + wireTypes[type], omitsZero: false };
  return { ...field, entry };
}

/** Whether two messages hold the same fields under the same names, all the way down: versions of a kind often do. */
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
  return isSame && (a.type !== 'message' || haveSameShape(messageNamed(a.message), messageNamed(b.message), seen));
}
