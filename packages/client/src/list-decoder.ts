// Decodes a list: finds the items while the answer arrives and parses each alone, so that a list of any size neither
// becomes one giant string nor blocks the event loop. Used by the client's lists.
import { type KubernetesObject, type ListMeta, parseJson } from '@kapstan/api';
import { isJsonObject } from '@kapstan/api/internal';

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
// '[' and '{', and ']' and '}', differ only in this bit.
const braceBit = 0x20;
const open = 0x7b;
const close = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const space = 0x20;

export interface DecodedList<T extends KubernetesObject> {
  readonly metadata: ListMeta;
  readonly items: T[];
}

export interface ListDecoderOptions {
  /** Added to items that lack them, because kube-apiserver leaves them out of typed lists. */
  readonly apiVersion: string;
  readonly kind: string;
  /** Parses one item. Throws SyntaxError when it is not JSON. Default: {@link parseJson}. */
  readonly parse?: (text: string) => unknown;
}

/** Feed it with {@link push}, then call {@link end}. Both throw SyntaxError when the bytes are not a list. */
export class ListDecoder<T extends KubernetesObject> {
  readonly #prefix: string;
  readonly #parse: (text: string) => unknown;
  readonly #items: T[] = [];
  /** Bytes outside the items, which form the list without them. */
  readonly #envelope: Buffer[] = [];
  /** Bytes of an item that began in an earlier chunk. */
  #partial: Buffer[] = [];
  #phase: 'before' | 'items' | 'after' = 'before';
  #depth = 0;
  /** Start of the current item in the current chunk. */
  #start = 0;
  #inString = false;
  #isEscaped = false;
  /** The last string at depth 1, to recognise the key "items". */
  #word: number[] = [];
  #isItemsKey = false;
  /** The bytes between two items, learned from the first: the end of one and the start of the next. Null: they cannot be used here. */
  #seam: Buffer | null | undefined;
  /** A chunk that contains no more seams. */
  #seamless: Buffer | undefined;

  constructor({ apiVersion, kind, parse = parseJson }: ListDecoderOptions) {
    this.#parse = parse;
    // The prefix comes first so that an item's own values, which come later, win.
    this.#prefix = `{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},`;
  }

  push(chunk: Buffer): void {
    let at = 0;
    if (this.#phase === 'before') at = this.#scanEnvelope(chunk);
    if (this.#phase === 'items') at = this.#scanItems(chunk, at);
    if (this.#phase === 'after' && at < chunk.length) this.#envelope.push(chunk.subarray(at));
  }

  end(): DecodedList<T> {
    if (this.#phase === 'items') throw new SyntaxError('the list ends within its items');
    const list: unknown = parseJson(Buffer.concat(this.#envelope).toString('utf8'));
    if (!isJsonObject(list)) throw new SyntaxError('a list must be a JSON object');
    if (!isJsonObject(list.metadata)) throw new SyntaxError('the answer is not a list: it has no metadata');
    if (!('items' in list)) throw new SyntaxError('the answer is not a list: it has no items');
    return { metadata: list.metadata, items: this.#items };
  }

  /** Scans up to and including the '[' of the items; returns the position after it. */
  #scanEnvelope(chunk: Buffer): number {
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at] as number;
      if (this.#inString) this.#stringByte(byte);
      else if (byte === openBracket && this.#depth === 1 && this.#isItemsKey) return this.#enterItems(chunk, at + 1);
      else this.#structureByte(byte);
    }
    this.#envelope.push(chunk);
    return chunk.length;
  }

  #enterItems(chunk: Buffer, at: number): number {
    this.#envelope.push(chunk.subarray(0, at));
    this.#phase = 'items';
    this.#depth = 0;
    return at;
  }

  #stringByte(byte: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === backslash) this.#isEscaped = true;
    else if (byte === quote) {
      this.#inString = false;
      return;
    }
    if (this.#depth === 1 && this.#word.length < 8) this.#word.push(byte);
  }

  #structureByte(byte: number): void {
    if (byte === quote) {
      this.#inString = true;
      this.#word = [];
    } else if ((byte | braceBit) === open) this.#depth++;
    else if ((byte | braceBit) === close) this.#depth--;
    else if (this.#depth !== 1) return;
    else if (byte === colon) this.#isItemsKey = String.fromCharCode(...this.#word) === 'items';
    else if (byte === comma) this.#isItemsKey = false;
  }

  /** Scans items up to the ']' after the last; returns its position, or the chunk's length. */
  #scanItems(chunk: Buffer, from: number): number {
    this.#start = from;
    let at = from;
    while (at < chunk.length && this.#phase === 'items')
      at = this.#depth === 0 ? this.#betweenItems(chunk, at) : this.#withinItem(chunk, at);
    if (this.#depth > 0) this.#partial.push(chunk.subarray(this.#start));
    return at;
  }

  #betweenItems(chunk: Buffer, from: number): number {
    let at = from;
    while (at < chunk.length && ((chunk[at] as number) <= space || chunk[at] === comma)) at++;
    if (at === chunk.length) return at;
    if (chunk[at] === closeBracket) {
      this.#phase = 'after';
      return at;
    }
    if (chunk[at] !== open) throw new SyntaxError('an item of the list is not an object');
    const end = this.#nextSeam(chunk, at);
    if (end > at && this.#isItem(chunk, at, end)) return end;
    this.#depth = 1;
    this.#start = at;
    return at + 1;
  }

  /** Returns the position after the item that begins here, if it ends at the next seam; -1 when the chunk has no seam. */
  #nextSeam(chunk: Buffer, from: number): number {
    if (!this.#seam || this.#seamless === chunk) return -1;
    const at = chunk.indexOf(this.#seam, from);
    if (at < 0) this.#seamless = chunk;
    return at < 0 ? -1 : at + 1;
  }

  /**
   * Takes the item if it ends here. Searching for seams costs a tenth of checking each byte, but an item may itself contain one (a list of
   * objects with metadata). The part before such a seam does not parse as an item; from then on every byte is checked.
   */
  #isItem(chunk: Buffer, start: number, end: number): boolean {
    try {
      this.#item(chunk, start, end);
      return true;
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      this.#seam = null;
      return false;
    }
  }

  /** Scans byte by byte to the end of the item or the chunk: where seams cannot be used, and for an item that spans two chunks. */
  #withinItem(chunk: Buffer, from: number): number {
    const length = chunk.length;
    let depth = this.#depth;
    let at = this.#inString ? this.#leaveString(chunk, from) : from;
    while (at < length && depth > 0) {
      const byte = chunk[at++] as number;
      if (byte === quote) {
        const end = endOfString(chunk, at);
        at = end < 0 ? this.#suspendString(chunk, end) : end;
      } else if ((byte | braceBit) === open) depth++;
      else if ((byte | braceBit) === close) depth--;
    }
    this.#depth = depth;
    if (depth === 0) this.#item(chunk, this.#start, at);
    return at;
  }

  #leaveString(chunk: Buffer, from: number): number {
    const end = endOfString(chunk, this.#isEscaped ? from + 1 : from);
    this.#inString = false;
    return end < 0 ? this.#suspendString(chunk, end) : end;
  }

  #suspendString(chunk: Buffer, end: number): number {
    this.#inString = true;
    this.#isEscaped = end === openEscape;
    return chunk.length;
  }

  #item(chunk: Buffer, start: number, end: number): void {
    let text: string;
    if (this.#partial.length === 0) text = chunk.toString('utf8', start, end);
    else {
      this.#partial.push(chunk.subarray(start, end));
      text = Buffer.concat(this.#partial).toString('utf8');
      this.#partial = [];
    }
    if (this.#seam === undefined) this.#seam = seamOf(text);
    const isEmpty = text.length < 16 && /^\{\s*\}$/.test(text);
    this.#items.push(this.#parse(isEmpty ? `${this.#prefix.slice(0, -1)}}` : this.#prefix + text.slice(1)) as T);
  }
}

function seamOf(item: string): Buffer | null {
  const metadata = '"metadata":{';
  const at = item.indexOf(metadata);
  return at < 0 || at > 200 ? null : Buffer.from(`},${item.slice(0, at + metadata.length)}`);
}

const openString = -1;
const openEscape = -2;

/** Returns the position after the closing quote; negative when the chunk ends first. */
function endOfString(chunk: Buffer, from: number): number {
  const length = chunk.length;
  for (let at = from; at < length; at++) {
    const byte = chunk[at];
    if (byte === quote) return at + 1;
    if (byte === backslash && ++at === length) return openEscape;
  }
  return openString;
}
