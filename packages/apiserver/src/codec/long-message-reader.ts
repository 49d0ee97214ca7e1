// LongMessageReader reads messages of any length in slices, and leaves short ones to protobuf-decoder.ts. Decision 0017.
import { JsonLimitError, type JsonLimits, maxJsonDepth, rememberSize, type SlicedWork } from '@kapstan/api/internal';
import type { Message, MessageField } from '../schema/node/message.ts';
import {
  addValue,
  finishFields,
  isPacked,
  mapOf,
  readField,
  readTagged,
  readValue,
  schemaOrBool,
  schemaOrItems,
  setEntry,
  type Target,
} from './protobuf-decoder.ts';
import { newFormState, takeField, type ValueForm, valueForms } from './value-forms.ts';
import { WireCursor } from './wire-cursor.ts';

/** Bytes that are read between two pauses. Shorter messages are read in one step. */
const bytesPerStep = 4096;

/** The reading of a part. It yields the readings of its own parts, so that deep messages need no deep calls. */
type Reading = Generator<Reading | Promise<void> | undefined, unknown, unknown>;

/** Decodes the message of a kind, and adds its members to `object`. Throws JsonLimitError for a message beyond the limits. */
export function* decodeIntoInSlices(
  object: Record<string, unknown>,
  message: Message,
  { bytes, limits }: { readonly bytes: Uint8Array; readonly limits: JsonLimits },
): SlicedWork<void> {
  const cursor = new WireCursor(bytes);
  yield* drive(new LongMessageReader(cursor, limits).fields(message, { end: cursor.bytes.length, object }));
}

function* drive(first: Reading): SlicedWork<void> {
  const open = [first];
  let result: unknown;
  for (let reading = open.at(-1); reading !== undefined; reading = open.at(-1)) {
    const { done, value } = reading.next(result);
    result = undefined;
    if (done === true) {
      open.pop();
      result = value;
    } else if (value === undefined || value instanceof Promise) yield value;
    else open.push(value);
  }
}

class LongMessageReader {
  readonly #cursor: WireCursor;
  readonly #limits: JsonLimits;
  readonly #members = new Map<object, number>();
  #pausedAt = 0;
  #fieldsAtPause = 0;
  #depth = 0;

  constructor(cursor: WireCursor, limits: JsonLimits) {
    this.#cursor = cursor;
    this.#limits = limits;
  }

  *fields(message: Message, { end, object }: Target): Reading {
    const cursor = this.#cursor;
    if (++this.#depth > maxJsonDepth) throw new Error('proto: exceeded max depth');
    while (cursor.at < end) {
      if (this.#isDue()) yield;
      const long = this.#longField(message);
      const field = long ?? readTagged(cursor, message, object);
      if (long !== undefined) yield isPacked(long, 2) ? this.#packed(object, long) : this.#field(object, long);
      if (field?.shape === 'map') this.#countMember(object[field.name]);
    }
    finishFields(cursor, message, { end, object });
    this.#depth--;
    return undefined;
  }

  /** Returns the field that comes next if it is long and has parts. */
  #longField(message: Message): MessageField | undefined {
    const cursor = this.#cursor;
    const start = cursor.at;
    const tag = cursor.varint();
    const field = message.byNumber[Math.floor(tag / 8)];
    const isLong = tag % 8 === 2 && cursor.varint() > bytesPerStep;
    cursor.at = start;
    if (field === undefined || !isLong) return undefined;
    const hasParts = tag === field.tag && (field.type === 'message' || field.shape === 'map');
    return hasParts || isPacked(field, 2) ? field : undefined;
  }

  /** True when enough was read for one step. */
  #isDue(): boolean {
    const { at, fields } = this.#cursor;
    if (fields > this.#limits.maxValues) throw new JsonLimitError(`more than ${this.#limits.maxValues} values`);
    if (at - this.#pausedAt < bytesPerStep && fields - this.#fieldsAtPause < bytesPerStep) return false;
    this.#pausedAt = at;
    this.#fieldsAtPause = fields;
    return true;
  }

  #countMember(map: unknown): void {
    const count = (this.#members.get(map as object) ?? 0) + 1;
    if (count > this.#limits.maxMembers)
      throw new JsonLimitError(`an object with more than ${this.#limits.maxMembers} members`);
    this.#members.set(map as object, count);
    rememberSize(map as object, count);
  }

  *#field(object: Record<string, unknown>, field: MessageField): Reading {
    const cursor = this.#cursor;
    cursor.tag();
    const end = cursor.end();
    if (field.shape === 'map') return yield this.#mapEntry(object, field, end);
    if (field.isInline) return yield this.fields(field.inner, { end, object });
    addValue(object, field, yield this.#value(field.inner, end));
    return undefined;
  }

  /** Reads the message that ends there. */
  *#value(message: Message, end: number): Reading {
    const form = valueForms.get(message.name);
    if (form !== undefined) return yield this.#form(form, end);
    if (message.name === schemaOrBool) return yield this.#schemaOrBool(end, message);
    if (schemaOrItems.has(message.name)) return yield this.#schemaOrItems(end, message);
    const object: Record<string, unknown> = {};
    yield this.fields(message, { end, object });
    return message.isList ? (object.items ?? []) : object;
  }

  *#form(form: ValueForm, end: number): Reading {
    const cursor = this.#cursor;
    const state = newFormState();
    while (cursor.at < end) {
      if (this.#isDue()) yield;
      cursor.fields++;
      takeField(form, state, cursor);
    }
    const json = form.jsonOf(state);
    for (let step = json.next(); ; step = json.next()) {
      if (step.done === true) return step.value;
      yield step.value;
    }
  }

  *#packed(object: Record<string, unknown>, field: MessageField): Reading {
    const cursor = this.#cursor;
    cursor.tag();
    for (const end = cursor.end(); cursor.at < end; cursor.fields++) {
      if (this.#isDue()) yield;
      readField(cursor, object, field);
    }
    return undefined;
  }

  *#mapEntry(object: Record<string, unknown>, field: MessageField, end: number): Reading {
    const cursor = this.#cursor;
    const { entry } = field;
    let key = '';
    let value: unknown;
    while (cursor.at < end) {
      if (this.#isDue()) yield;
      const tag = cursor.tag();
      if (tag === 0x0a) key = cursor.text(cursor.end());
      else if (entry?.tag !== tag) cursor.skip(tag % 8);
      else if (entry.type === 'message') value = yield this.#value(entry.inner, cursor.end());
      else value = readValue(cursor, entry);
    }
    setEntry(mapOf(object, field), field, { key, value });
    return undefined;
  }

  /** Reads a schema in field 2, or a boolean. */
  *#schemaOrBool(end: number, { byNumber }: Message): Reading {
    const cursor = this.#cursor;
    let allows = false;
    let schema: unknown;
    while (cursor.at < end) {
      if (this.#isDue()) yield;
      const tag = cursor.tag();
      if (tag === 0x08) allows = cursor.varint() !== 0;
      else if (tag === 0x12) schema = yield this.#schema(byNumber[2]);
      else cursor.skip(tag % 8);
    }
    return schema ?? allows;
  }

  /** Reads one schema in field 1, or several items in field 2. */
  *#schemaOrItems(end: number, { byNumber }: Message): Reading {
    const cursor = this.#cursor;
    const [, first, second] = byNumber;
    const items: unknown[] = [];
    let schema: unknown;
    while (cursor.at < end) {
      if (this.#isDue()) yield;
      const tag = cursor.tag();
      if (tag === 0x0a) schema = yield this.#schema(first);
      else if (tag === 0x12)
        items.push(second?.type === 'string' ? cursor.text(cursor.end()) : yield this.#schema(second));
      else cursor.skip(tag % 8);
    }
    return schema ?? items;
  }

  *#schema(field: MessageField | undefined): Reading {
    const end = this.#cursor.end();
    return field === undefined ? undefined : yield this.#value(field.inner, end);
  }
}
