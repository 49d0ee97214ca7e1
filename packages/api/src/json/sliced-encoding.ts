// JSON of values of any size, in slices: as text, and as UTF-8.

import { fitsOneSlice, membersPerSlice, namesInSlices, type SlicedWork } from '../time/sliced-work.ts';
import { isJsonObject, isLeaf, itemsPerSlice, stringifyJson } from './json.ts';
import { JsonLimitError } from './json-syntax.ts';

/** Takes the next part of the JSON. Parts never divide a character. */
type Write = (part: string) => void;

/** Does what {@link stringifyJson} does, for a value of any size. */
export function* stringifyInSlices(value: unknown): SlicedWork<string> {
  if (fitsOneSlice(value)) return stringifyJson(value);
  const parts: string[] = [];
  yield* writeLarge(value, (part) => parts.push(part));
  return parts.join('');
}

const encoder = new TextEncoder();

export interface EncodeOptions {
  /** Text behind the JSON. Default: none. */
  readonly after?: string;
  /** Most bytes of a value that does not fit one slice. Default: no limit. */
  readonly maxBytes?: number;
}

/**
 * Returns what {@link stringifyInSlices} returns, as UTF-8. The text is encoded part by part: a text of megabytes takes 25 ms to encode in
 * one call. Throws {@link JsonLimitError} for more bytes than allowed.
 */
export function* encodeJsonInSlices(value: unknown, options: EncodeOptions = {}): SlicedWork<Uint8Array<ArrayBuffer>> {
  const { after = '', maxBytes = Number.POSITIVE_INFINITY } = options;
  if (fitsOneSlice(value)) return encoder.encode(`${stringifyJson(value)}${after}`);
  const bytes = new Utf8Parts(maxBytes);
  yield* writeLarge(value, (part) => bytes.add(part));
  bytes.add(after);
  return bytes.joined();
}

function* writeLarge(value: unknown, write: Write): SlicedWork<void> {
  if (!fitsOneSlice(value)) {
    // Each level is a step of its own: deciding how to write a level looks at some hundred nodes, even if it has few members.
    yield;
    if (Array.isArray(value)) return yield* writeItems(value, write);
    if (isJsonObject(value)) return yield* writeMembers(value, write);
  }
  write(stringifyJson(value));
}

function* writeItems(list: readonly unknown[], write: Write): SlicedWork<void> {
  let separator = '';
  let run: unknown[] = [];
  const writeRun = (): void => {
    if (run.length === 0) return;
    write(`${separator}${stringifyJson(run).slice(1, -1)}`);
    separator = ',';
    run = [];
  };
  write('[');
  for (const item of list) {
    if (isLeaf(item) || fitsOneSlice(item)) run.push(item);
    else {
      writeRun();
      write(separator);
      separator = ',';
      yield* writeLarge(item, write);
    }
    if (run.length < itemsPerSlice) continue;
    writeRun();
    yield;
  }
  writeRun();
  write(']');
}

function* writeMembers(object: Record<string, unknown>, write: Write): SlicedWork<void> {
  let separator = '';
  write('{');
  for (const [index, key] of (yield* namesInSlices(object)).entries()) {
    const member = object[key];
    if (member !== undefined) {
      const name = `${separator}${JSON.stringify(key)}:`;
      separator = ',';
      if (isLeaf(member)) write(name + JSON.stringify(member));
      else {
        write(name);
        yield* writeLarge(member, write);
      }
    }
    if (index % membersPerSlice === membersPerSlice - 1) yield;
  }
  write('}');
}

/** Number of characters that are encoded at once. */
const charactersAtOnce = 65_536;

class Utf8Parts {
  readonly #parts: Uint8Array[] = [];
  readonly #maxBytes: number;
  #length = 0;
  #waiting = '';

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  add(text: string): void {
    this.#waiting += text;
    if (this.#waiting.length >= charactersAtOnce) this.#encode();
  }

  joined(): Uint8Array<ArrayBuffer> {
    this.#encode();
    const bytes = new Uint8Array(this.#length);
    let at = 0;
    for (const part of this.#parts) {
      bytes.set(part, at);
      at += part.length;
    }
    return bytes;
  }

  #encode(): void {
    const part = encoder.encode(this.#waiting);
    this.#waiting = '';
    this.#parts.push(part);
    this.#length += part.length;
    if (this.#length > this.#maxBytes) throw new JsonLimitError(`more than ${this.#maxBytes} bytes`);
  }
}
