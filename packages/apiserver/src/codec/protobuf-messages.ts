// Tables of the protobuf messages behind the built-in kinds, made from the facts once per message.
import { formatApiVersion, type GroupVersionKind, getOwn } from '@kapstan/api';
import { type ProtobufField, protobufFacts } from '@kapstan/kinds/facts';
import { builtinDefinitionName } from '../schema/builtin-schemas.ts';

export interface MessageField {
  readonly number: number;
  /** Name in the JSON of the object. */
  readonly name: string;
  /** A scalar ("string", "bool", "int32", "int64", "double", "bytes") or the name of a message. */
  readonly type: string;
  readonly isScalar: boolean;
  readonly shape: 'single' | 'repeated' | 'map';
  /** The message's members lie directly in the parent's JSON. */
  readonly isInline: boolean;
  /** Left out of the JSON when it is the zero value. */
  readonly omitsZero: boolean;
  /** A single value that may be absent on the wire; others are always written. */
  readonly isOptional: boolean;
}

export interface Message {
  readonly name: string;
  /** In rising order of their numbers. */
  readonly fields: readonly MessageField[];
  readonly byNumber: ReadonlyMap<number, MessageField>;
}

const messages = new Map<string, Message>();
const scalars = new Set(['string', 'bool', 'int32', 'int64', 'double', 'bytes']);

/** Throws TypeError for a name that the facts do not have. */
export function messageNamed(name: string): Message {
  const known = messages.get(name);
  if (known !== undefined) return known;
  const facts = getOwn(protobufFacts().messages, name) as Readonly<Record<string, ProtobufField>> | undefined;
  if (facts === undefined) throw new TypeError(`no protobuf message ${name}`);
  const fields = Object.entries(facts)
    .map(([fieldName, field]) => messageField(fieldName, field))
    .sort((a, b) => a.number - b.number);
  const message = { name, fields, byNumber: new Map(fields.map((field) => [field.number, field])) };
  messages.set(name, message);
  return message;
}

/** The message of a kind; undefined for custom resources and what has no protobuf form. */
export function messageOfKind(kind: GroupVersionKind): Message | undefined {
  const name =
    kind.group === 'meta.k8s.io' || kind.kind === 'Status'
      ? `meta/${kind.group === '' ? 'v1' : kind.version}.${kind.kind}`
      : builtinDefinitionName(formatApiVersion(kind), kind.kind);
  if (name === undefined || !Object.hasOwn(protobufFacts().messages, name)) return undefined;
  return messageNamed(name);
}

function messageField(
  name: string,
  [number, type, label = '', flags = '', jsonName = name]: ProtobufField,
): MessageField {
  return {
    number,
    name: jsonName === '' ? name : jsonName,
    type,
    isScalar: scalars.has(type),
    shape: label === 'r' ? 'repeated' : label === 'm' ? 'map' : 'single',
    isInline: flags.includes('i'),
    omitsZero: flags.includes('o') || flags.includes('z'),
    isOptional: flags.includes('p') || type === 'bytes',
  };
}
