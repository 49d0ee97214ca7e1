// Stored<T>: one object at one revision with its encodings, made once and shared by every reader and watcher.

import { type DeepReadonly, type KubernetesObject, type Revision, stringifyJson } from '@kapstan/api';
import { formatRevision } from '@kapstan/api/internal';

/** A named way to turn an object into bytes: JSON, a Table row, metadata only. Equal names must mean equal bytes. */
export interface Encoding<T extends KubernetesObject> {
  readonly name: string;
  encode(stored: Stored<T>): Uint8Array;
}

/** The wire JSON of the object, as it is held. */
export const jsonEncoding: Encoding<KubernetesObject> = {
  name: 'json',
  encode: (stored) => encodeText(stringifyJson(stored.object)),
};

/**
 * One object at one revision. The object carries its resourceVersion and is never changed (I6): copy with
 * structuredClone first. Encodings are computed on first use. The wire JSON is kept for as long as this value lives, the
 * others for as long as the object is.
 */
export class Stored<T extends KubernetesObject> {
  readonly key: string;
  readonly revision: Revision;
  /** Size of the value as the engine holds it, in bytes. 0 = unknown. */
  storedBytes = 0;
  #object: DeepReadonly<T> | undefined;
  #parse: (() => DeepReadonly<T>) | undefined;
  #parseInTurns: (() => Promise<DeepReadonly<T>>) | undefined;
  // Apart from the others: nearly every value has it and no other, and a Map is larger than an object.
  #json: Uint8Array | undefined;
  #encodings: Map<string, Uint8Array> | undefined;
  /** Long encodings of a released object, for as long as somebody else holds them: many who read at once share one. */
  #borrowed: Map<string, WeakRef<Uint8Array>> | undefined;

  constructor(key: string, revision: Revision, object: DeepReadonly<T>) {
    this.key = key;
    this.revision = revision;
    this.#object = object;
  }

  /** Always equal; the same one between two calls of {@link release}. */
  get object(): DeepReadonly<T> {
    // Invariant: without an object there is a parser.
    this.#object ??= (this.#parse as () => DeepReadonly<T>)();
    return this.#object;
  }

  /** How to make the object anew; with it {@link release} can let go of the object. */
  rememberParser(parse: () => DeepReadonly<T>, parseInTurns?: () => Promise<DeepReadonly<T>>): void {
    this.#parse = parse;
    this.#parseInTurns = parseInTurns;
  }

  /** Makes a large object anew, in several turns, if it was released: what looks at {@link object} next need not parse it in one. */
  async restore(): Promise<void> {
    if (this.#object !== undefined || this.#parseInTurns === undefined) return;
    const object = await this.#parseInTurns();
    this.#object ??= object;
  }

  /**
   * Keeps the JSON alone, where the object can be made anew. A parsed object is several times its bytes, and the
   * garbage collector walks it: what many hold and few look at is better kept so (decision 0013).
   */
  release(): void {
    if (this.#parse === undefined) return;
    this.#object = undefined;
    this.#encodings = undefined;
  }

  /** Lets `look` see the object, and lets go of it again if it was released before. For passes over many objects. */
  view<R>(look: (object: DeepReadonly<T>) => R): R {
    const wasReleased = this.#object === undefined;
    try {
      return look(this.object);
    } finally {
      if (wasReleased) this.release();
    }
  }

  /** Bytes in the given encoding. Shared: do not write into them. */
  encoded(encoding: Encoding<T>): Uint8Array {
    const known = this.#known(encoding.name);
    if (known !== undefined) return known;
    const wasReleased = this.#object === undefined;
    const bytes = encoding.encode(this);
    if (wasReleased) this.release();
    // Of a released object the next reader is far: keeping more than one form would keep the whole cache twice.
    if (!wasReleased || encoding.name === jsonEncoding.name) this.rememberEncoded(encoding.name, bytes);
    else if (bytes.length >= longBytes) {
      this.#borrowed ??= new Map();
      this.#borrowed.set(encoding.name, new WeakRef(bytes));
    }
    return bytes;
  }

  #known(name: string): Uint8Array | undefined {
    if (name === jsonEncoding.name) return this.#json;
    return this.#encodings?.get(name) ?? this.#borrowed?.get(name)?.deref();
  }

  /** The wire JSON where it is at hand: asking makes nothing. */
  get knownJson(): Uint8Array | undefined {
    return this.#json;
  }

  /** Puts bytes that are known already, as those spliced from the stored value. */
  rememberEncoded(name: string, bytes: Uint8Array): void {
    if (name === jsonEncoding.name) {
      this.#json = bytes;
      return;
    }
    this.#encodings ??= new Map();
    this.#encodings.set(name, bytes);
  }

  /**
   * The same object at another revision: what a deletion shows (last state, revision of the deletion). It can be released
   * where this one can, and this one stays released if it was.
   */
  atRevision(revision: Revision): Stored<T> {
    const twin = new Stored<T>(
      this.key,
      revision,
      this.view((object) => versioned(object, revision)),
    );
    twin.storedBytes = this.storedBytes;
    const parse = this.#parse;
    if (parse !== undefined) twin.rememberParser(() => versioned(parse(), revision));
    return twin;
  }
}

/** A copy with that version, which shares all the rest; frozen where the object is. */
function versioned<T extends KubernetesObject>(object: DeepReadonly<T>, revision: Revision): DeepReadonly<T> {
  const copy = { ...object, metadata: { ...object.metadata, resourceVersion: formatRevision(revision) } };
  if (Object.isFrozen(object)) {
    Object.freeze(copy.metadata);
    Object.freeze(copy);
  }
  return copy as DeepReadonly<T>;
}

/** From this size on a copy for each reader costs more than the reference that avoids it. */
const longBytes = 16_384;

const encoder = new TextEncoder();
function encodeText(text: string): Uint8Array {
  return encoder.encode(text);
}
