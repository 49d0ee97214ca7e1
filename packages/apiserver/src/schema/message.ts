// Message: how the protobuf form of one type stands on the wire. Made by protobuf-messages.ts, read by codec/.

/** How one value stands on the wire: a scalar, a message, or one of the messages whose JSON is not the object of its fields. */
export type ValueType = 'string' | 'bool' | 'int32' | 'int64' | 'double' | 'bytes' | 'message';

export interface MessageField {
  readonly number: number;
  /** Name in the JSON of the object. Never one of Object.prototype. */
  readonly name: string;
  readonly type: ValueType;
  /** Name of the message behind the type "message". */
  readonly message: string;
  /** That message. Throws TypeError for other types. */
  readonly inner: Message;
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
  readonly entry: MessageField | undefined;
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
