// Utf8Parts: a long text as UTF-8, encoded part by part while it is written. Used by sliced-encoding.ts and by writers of other formats.
import { JsonLimitError } from './json-syntax.ts';

const encoder = new TextEncoder();

/** Number of characters that are encoded at once. */
const charactersAtOnce = 65_536;

export class Utf8Parts {
  readonly #parts: Uint8Array[] = [];
  readonly #maxBytes: number;
  #length = 0;
  #waiting = '';

  constructor(maxBytes: number = Number.POSITIVE_INFINITY) {
    this.#maxBytes = maxBytes;
  }

  /** Adds text that does not end within a character. Throws {@link JsonLimitError} for more bytes than allowed. */
  add(text: string): void {
    this.#waiting += text;
    if (this.#waiting.length >= charactersAtOnce) this.#encode();
  }

  /** Returns all bytes. Throws {@link JsonLimitError} for more than allowed. */
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
