// Stored<T>: one object at one revision with its encodings. They are made once and shared by every reader and watcher.
import { type DeepReadonly, type KubernetesObject, type Revision, stringifyJson } from '@kapstan/api';
import { formatRevision } from '@kapstan/api/internal';

/** A named way to turn an object into bytes: JSON, a Table row, metadata only. Equal names must mean equal bytes. */
export interface Encoding<T extends KubernetesObject> {
  readonly name: string;
  encode(stored: Stored<T>): Uint8Array;
}

/** Encodes the object as its wire JSON. */
export const jsonEncoding: Encoding<KubernetesObject> = {
  name: 'json',
  encode: (stored) => encodeText(stringifyJson(stored.object)),
};

/**
 * One object at one revision, never changed (I6): copy it with structuredClone first. It carries its resourceVersion.
 * Encodings are made on first use: the wire JSON is kept with this value, others with the object.
 */
export class Stored<T extends KubernetesObject> {
  readonly key: string;
  readonly revision: Revision;
  /** Size of the value as the engine holds it, in bytes. 0 = unknown. */
  storedBytes = 0;
  #object: DeepReadonly<T> | undefined;
  #parse: (() => DeepReadonly<T>) | undefined;
  #parseInTurns: (() => Promise<DeepReadonly<T>>) | undefined;
  // The JSON has its own field instead of a place in the Map. Nearly every value has JSON and no other encoding, and a
  // Map takes more memory than a field.
  #json: Uint8Array | undefined;
  #encodings: Map<string, Uint8Array> | undefined;
  /**
   * Long encodings of a released object, kept while another reader holds them, so that simultaneous readers share one.
   */
  #borrowed: Map<string, WeakRef<Uint8Array>> | undefined;

  constructor(key: string, revision: Revision, object: DeepReadonly<T>) {
    this.key = key;
    this.revision = revision;
    this.#object = object;
  }

  /** The object, parsed again after {@link release}. Always equal, and the same one between two releases. */
  get object(): DeepReadonly<T> {
    // Invariant: without an object there is a parser.
    this.#object ??= (this.#parse as () => DeepReadonly<T>)();
    return this.#object;
  }

  /** Sets how to parse the object again, which allows {@link release} to drop it. */
  rememberParser(parse: () => DeepReadonly<T>, parseInTurns?: () => Promise<DeepReadonly<T>>): void {
    this.#parse = parse;
    this.#parseInTurns = parseInTurns;
  }

  /**
   * Parses a large object in several turns if it was released, so that the next use of {@link object} need not parse it
   * in one. Resolves to true if it did, so that the caller may {@link release} it again.
   */
  async restore(): Promise<boolean> {
    if (this.#object !== undefined || this.#parseInTurns === undefined) return false;
    const object = await this.#parseInTurns();
    this.#object ??= object;
    return true;
  }

  /**
   * Drops the object and keeps only its JSON, if that can be parsed again. A parsed object takes several times its
   * bytes and costs the garbage collector time, which rarely read objects are not worth (decision 0013).
   */
  release(): void {
    if (this.#parse === undefined) return;
    this.#object = undefined;
    this.#encodings = undefined;
  }

  /**
   * Calls `look` with the object and drops the object afterwards if it was released before. Used in passes over many
   * objects.
   */
  view<R>(look: (object: DeepReadonly<T>) => R): R {
    const wasReleased = this.#object === undefined;
    try {
      return look(this.object);
    } finally {
      if (wasReleased) this.release();
    }
  }

  /** Returns the bytes in the given encoding. They are shared: do not write into them. */
  encoded(encoding: Encoding<T>): Uint8Array {
    const known = this.#known(encoding.name);
    if (known !== undefined) return known;
    const wasReleased = this.#object === undefined;
    const bytes = encoding.encode(this);
    if (wasReleased) this.release();
    // A released object is rarely read, and keeping a second form of each would keep the whole cache twice.
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

  /** The wire JSON if it exists already; reading this never makes it. */
  get knownJson(): Uint8Array | undefined {
    return this.#json;
  }

  /** Sets bytes that are already known, such as JSON spliced from the stored value. */
  rememberEncoded(name: string, bytes: Uint8Array): void {
    if (name === jsonEncoding.name) {
      this.#json = bytes;
      return;
    }
    this.#encodings ??= new Map();
    this.#encodings.set(name, bytes);
  }

  /**
   * Returns the same object at another revision; a deletion shows the last state at its own revision. The copy can be
   * released if this one can, and this one stays released if it was.
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

/** Returns a copy with that version that shares everything else, frozen if the object is. */
function versioned<T extends KubernetesObject>(object: DeepReadonly<T>, revision: Revision): DeepReadonly<T> {
  const copy = { ...object, metadata: { ...object.metadata, resourceVersion: formatRevision(revision) } };
  if (Object.isFrozen(object)) {
    Object.freeze(copy.metadata);
    Object.freeze(copy);
  }
  return copy as DeepReadonly<T>;
}

/** Above this size, an extra copy per reader costs more than the reference that lets them share one. */
const longBytes = 16_384;

const encoder = new TextEncoder();
function encodeText(text: string): Uint8Array {
  return encoder.encode(text);
}
