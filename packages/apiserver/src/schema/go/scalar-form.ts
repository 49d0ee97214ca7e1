// The JSON form of Go values other than structs of fields: strings, numbers, bytes, and types that print themselves
// (Time, MicroTime, Quantity, IntOrString). go-form.ts walks the structs and uses it.

import { ExactNumber, formatTime, parseQuantity, parseTime, type Quantity } from '@kapstan/api';
import { formatMicroTime } from '@kapstan/api/internal';

export interface ScalarForm {
  readonly kind:
    | 'string'
    | 'number'
    | 'boolean'
    | 'bytes'
    | 'time'
    | 'microTime'
    | 'quantity'
    | 'milliQuantity'
    | 'intOrString'
    | 'opaque';
  /** True for structs in Go, which encoding/json never treats as empty, so that omitempty does not drop them. */
  readonly isStruct: boolean;
}

const structs: Readonly<Record<string, ScalarForm['kind']>> = {
  'meta/v1.Time': 'time',
  'meta/v1.MicroTime': 'microTime',
  'machinery/api.resource.Quantity': 'quantity',
  'machinery/util.intstr.IntOrString': 'intOrString',
  'machinery/runtime.RawExtension': 'opaque',
};

const scalars: Readonly<Record<string, ScalarForm['kind']>> = { string: 'string', bool: 'boolean', bytes: 'bytes' };

/**
 * Returns the form of a type by its name in the protobuf facts. Values of types that print themselves differently stay
 * as they are.
 */
export function scalarFormOf(type: string): ScalarForm {
  const struct = Object.hasOwn(structs, type) ? structs[type] : undefined;
  if (struct !== undefined) return { kind: struct, isStruct: true };
  const scalar = Object.hasOwn(scalars, type) ? scalars[type] : undefined;
  if (scalar !== undefined) return { kind: scalar, isStruct: false };
  return { kind: /^(u?int|fixed|s?fixed|double|float)/.test(type) ? 'number' : 'opaque', isStruct: false };
}

/** Amounts in a list of resources are rounded to thousandths. Source: SetDefaults_ResourceList. */
export const resourceAmountForm: ScalarForm = { kind: 'milliQuantity', isStruct: true };

/** Returns the text that an unset value prints. */
export function zeroOfScalar(form: ScalarForm): unknown {
  switch (form.kind) {
    case 'string':
      return '';
    case 'number':
    case 'intOrString':
      return 0;
    case 'boolean':
      return false;
    case 'quantity':
    case 'milliQuantity':
      return '0';
    case 'bytes':
    case 'time':
    case 'microTime':
    case 'opaque':
      return null;
  }
}

/**
 * Returns the canonical form of a value. Values that cannot be parsed stay as they are, because decoding refuses them.
 */
export function normalizeScalar(form: ScalarForm, value: unknown): unknown {
  switch (form.kind) {
    case 'time':
      return normalizeTime(value, (epochMs) => formatTime(epochMs));
    case 'microTime':
      return typeof value === 'string' ? normalizeMicroTime(value) : value;
    case 'quantity':
      return normalizeQuantity(value, asItIs);
    case 'milliQuantity':
      return normalizeQuantity(value, roundUpToMilli);
    case 'bytes':
      return typeof value === 'string' ? value.replace(/[\r\n]/g, '') : value;
    default:
      return value;
  }
}

function normalizeTime(value: unknown, format: (epochMs: number) => string): unknown {
  if (typeof value !== 'string') return value;
  const epochMs = parseTime(value);
  return Number.isNaN(epochMs) ? value : format(epochMs);
}

/**
 * Six digits of the fraction are kept, more than a double of milliseconds holds exactly, so they are handled as text.
 */
function normalizeMicroTime(text: string): string {
  const match = /^(.*T\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)$/i.exec(text);
  const epochMs = match === null ? Number.NaN : parseTime(`${match[1]}${match[3]}`);
  if (match === null || Number.isNaN(epochMs)) return text;
  const micros = (match[2] ?? '').slice(0, 6).padEnd(6, '0');
  return formatMicroTime(epochMs).replace(/\.\d+Z$/, `.${micros}Z`);
}

function normalizeQuantity(value: unknown, round: (quantity: Quantity) => Quantity): unknown {
  if (typeof value !== 'number' && typeof value !== 'string' && !(value instanceof ExactNumber)) return value;
  const text = String(value);
  try {
    return round(parseQuantity(text)).toString();
  } catch (error) {
    if (error instanceof TypeError) return value;
    throw error;
  }
}

function asItIs(quantity: Quantity): Quantity {
  return quantity;
}

function roundUpToMilli(quantity: Quantity): Quantity {
  return quantity.roundedUp(-3);
}
