// Messages whose JSON is not an object of their fields: quantities, times, numbers or texts, JSON. Used by protobuf-decoder.ts.
import { formatTime, parseJson } from '@kapstan/api';
import { parseJsonInSlices, type SlicedWork } from '@kapstan/api/internal';
import type { WireCursor } from './wire-cursor.ts';

/** The state after the fields read so far. If a field repeats, the last one counts. */
interface FormState {
  isText: boolean;
  number: number;
  text: string;
  seconds: number | undefined;
  nanos: number;
}

export interface ValueForm {
  /** Reads the field of this tag into the state. Returns false for a field that the message does not have. */
  take(state: FormState, cursor: WireCursor, tag: number): boolean;
  jsonOf(state: FormState): SlicedWork<unknown>;
}

export function newFormState(): FormState {
  return { isText: false, number: 0, text: '', seconds: undefined, nanos: 0 };
}

/** Reads one field, whether the message has it or not. It is not counted: the message is one value. */
export function takeField(form: ValueForm, state: FormState, cursor: WireCursor): void {
  const tag = cursor.varint();
  if (!form.take(state, cursor, tag)) cursor.skip(tag % 8);
}

function takeText(state: FormState, cursor: WireCursor, tag: number): boolean {
  if (tag !== 0x0a) return false;
  state.text = cursor.text(cursor.end());
  return true;
}

function takeNumberOrText(state: FormState, cursor: WireCursor, tag: number): boolean {
  if (tag === 0x08) state.isText = cursor.varint() === 1;
  else if (tag === 0x10) state.number = Number(cursor.int64());
  else if (tag === 0x1a) state.text = cursor.text(cursor.end());
  else return false;
  return true;
}

function takeTime(state: FormState, cursor: WireCursor, tag: number): boolean {
  if (tag === 0x08) state.seconds = Number(cursor.int64());
  else if (tag === 0x10) state.nanos = cursor.varint();
  else return false;
  return true;
}

/** Returns null for a time that is not set. */
const timeOf = ({ seconds }: FormState): string | null => (seconds === undefined ? null : formatTime(seconds * 1000));

function microTimeOf(state: FormState): string | null {
  const micros = Math.floor(state.nanos / 1000);
  const whole = timeOf(state);
  return whole && `${whole.slice(0, -1)}.${micros.toString().padStart(6, '0')}Z`;
}

const form = (take: ValueForm['take'], jsonOf: (state: FormState) => unknown): ValueForm => ({
  take,
  // biome-ignore lint/correctness/useYield: Only JSON is long enough to be read in slices.
  jsonOf: function* (state) {
    return jsonOf(state);
  },
});

/** Longer JSON is parsed in slices. */
const longText = 16 * 1024;

/** Returns undefined for a text that is not JSON, whose fault the reader in slices tells in Go's words. */
function parsedAtOnce(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: parseJson(text) };
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

const json: ValueForm = {
  take: takeText,
  jsonOf: function* ({ text }) {
    if (text === '') return null;
    const parsed = text.length < longText ? parsedAtOnce(text) : undefined;
    return parsed === undefined ? yield* parseJsonInSlices(text) : parsed.value;
  },
};

/** The forms by the name of the message. */
export const valueForms: ReadonlyMap<string, ValueForm> = new Map<string, ValueForm>([
  ['machinery/api.resource.Quantity', form(takeText, ({ text }) => text || '0')],
  ['machinery/util.intstr.IntOrString', form(takeNumberOrText, ({ isText, number, text }) => (isText ? text : number))],
  ['machinery/runtime.RawExtension', json],
  ['crd/apiextensions.v1.JSON', json],
  ['meta/v1.FieldsV1', json],
  ['meta/v1.Time', form(takeTime, timeOf)],
  ['meta/v1.MicroTime', form(takeTime, microTimeOf)],
]);
