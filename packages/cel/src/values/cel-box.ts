// CelBox: the base of all values that JSON cannot represent. Every operation looks at `kind` first.

/** The kinds of values. */
export type ValueKind =
  | 'bool'
  | 'bytes'
  | 'double'
  | 'duration'
  | 'failure'
  | 'int'
  | 'list'
  | 'map'
  | 'null'
  | 'object'
  | 'optional'
  | 'string'
  | 'timestamp'
  | 'type'
  | 'uint';

export abstract class CelBox {
  abstract readonly kind: ValueKind;
}
