// Message describes how one type is encoded in protobuf. Made by protobuf-messages.ts, read by codec/.

/**
 * How one value is encoded: a scalar, a message, or one of the messages whose JSON is not an object of their fields.
 */
export type ValueType = 'string' | 'bool' | 'int32' | 'int64' | 'double' | 'bytes' | 'message';

export interface MessageField {
  readonly number: number;
  /** Name of the member in JSON. Never a name of Object.prototype. */
  readonly name: string;
  readonly type: ValueType;
  /** Name of the message if the type is "message". */
  readonly message: string;
  /** The message named by `message`. Throws TypeError for a field of another type. */
  readonly inner: Message;
  readonly shape: 'single' | 'repeated' | 'map';
  /** Number and wire type of a single value, as encoded. */
  readonly tag: number;
  /** True when the message's members are directly in the parent's JSON. */
  readonly isInline: boolean;
  /** True for a single value that may be absent on the wire; others are always written. */
  readonly isOptional: boolean;
  /** True for a scalar that JSON omits when it is zero. */
  readonly omitsZero: boolean;
  /** True when the JSON omits the field if it was not on the wire. Otherwise it is null or its zero value. */
  readonly omitsAbsent: boolean;
  /** For a map: the field of its entries' values. */
  readonly entry: MessageField | undefined;
}

export interface Message {
  readonly name: string;
  /** Fields in the order of their numbers. */
  readonly fields: readonly MessageField[];
  /** Index in `fields` of each JSON member, including members of inlined messages. */
  readonly places: ReadonlyMap<string, number>;
  /** The fields by their numbers. */
  readonly byNumber: readonly (MessageField | undefined)[];
  /** Fields that the JSON contains even when they were not on the wire. */
  readonly always: readonly MessageField[];
  /** True when its JSON is the list of its only field: meta/v1 Verbs, ExtraValue. */
  readonly isList: boolean;
}
