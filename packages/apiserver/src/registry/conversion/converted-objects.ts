// ConvertedObjects: stored objects in one version of their kind, each converted once for all lists and watches. It
// calls the port ObjectConversion; converted-storage.ts uses it.
import { parseJson, type UnstructuredObject } from '@kapstan/api';
import {
  type CallSignal,
  deepFreeze,
  onNextTurn,
  parseJsonInSlices,
  stringifyInSlices,
  TurnSlice,
} from '@kapstan/api/internal';
import { jsonEncoding, largeObjectBytes, runInTurns, Stored } from '@kapstan/storage';
import type { ConversionContext, ObjectConversion } from '../definition/object-conversion.ts';

type StoredObject = Stored<UnstructuredObject>;

/** Maximum number of objects in one call of the conversion. */
export const maxBatchObjects = 500;
/** Maximum number of bytes of the stored objects in one call, unless a single one is larger. */
export const maxBatchBytes: number = 1024 * 1024;

export interface ConvertedObjectsOptions {
  readonly conversion: ObjectConversion;
  /** The requested version. */
  readonly apiVersion: string;
  /** Freezes every object that is handed out. Default false. */
  readonly freeze?: boolean;
}

export class ConvertedObjects {
  readonly #conversion: ObjectConversion;
  readonly #apiVersion: string;
  readonly #freeze: boolean;
  /**
   * Maps each stored object to its converted one, or to itself if it already has the version. The keys are the cache's
   * objects, so the map grows no larger than the cache. Converted objects are kept as bytes.
   */
  readonly #known = new WeakMap<StoredObject, StoredObject>();
  /** Stored objects known to have other versions; finding this out requires parsing them. */
  readonly #others = new WeakSet<StoredObject>();
  readonly #underWay = new WeakMap<StoredObject, Promise<StoredObject>>();

  constructor({ conversion, apiVersion, freeze = false }: ConvertedObjectsOptions) {
    this.#conversion = conversion;
    this.#apiVersion = apiVersion;
    this.#freeze = freeze;
  }

  /** Returns the object in the version if no conversion is needed for it. */
  known(stored: StoredObject): StoredObject | undefined {
    const known = this.#known.get(stored);
    if (known !== undefined || this.#others.has(stored)) return known;
    if (stored.view((object) => object.apiVersion) === this.#apiVersion) {
      this.#known.set(stored, stored);
      return stored;
    }
    this.#others.add(stored);
    return undefined;
  }

  /** Converts again even known objects, for answers that must not be older than the conversion itself. */
  async fresh(stored: StoredObject, context: ConversionContext = {}): Promise<StoredObject> {
    if (await stored.restore()) onNextTurn(() => stored.release());
    if (stored.view((object) => object.apiVersion) === this.#apiVersion) return stored;
    const [converted] = await this.#convert([stored], context);
    return converted as StoredObject;
  }

  /** Converts the objects that are not known, in calls of limited size, one after the other. */
  async all(storeds: readonly StoredObject[], context: ConversionContext = {}): Promise<readonly StoredObject[]> {
    const { signal } = context;
    await this.#lookAt(storeds, signal);
    const unknown = storeds.filter((stored) => this.known(stored) === undefined && !this.#underWay.has(stored));
    const waiting = storeds.flatMap((stored) => this.#underWay.get(stored) ?? []);
    for (const batch of batchesOf(unknown)) {
      signal?.throwIfAborted();
      await this.#together(batch, context);
    }
    if (waiting.length > 0) await Promise.all(waiting);
    return storeds.map((stored) => this.#known.get(stored) as StoredObject);
  }

  /** Finds out which objects are known, which requires parsing each new one. */
  async #lookAt(storeds: readonly StoredObject[], signal: CallSignal | undefined): Promise<void> {
    const slice = new TurnSlice();
    for (const stored of storeds) {
      const wasReleased = !this.#others.has(stored) && !this.#known.has(stored) && (await stored.restore());
      this.known(stored);
      if (wasReleased) stored.release();
      if (!slice.endsHere()) continue;
      await slice.nextTurn();
      signal?.throwIfAborted();
    }
  }

  /** Concurrent requests for one of these objects get the same answer. */
  async #together(batch: readonly StoredObject[], context: ConversionContext): Promise<void> {
    const converting = this.#convert(batch, context);
    for (const [index, stored] of batch.entries()) {
      const one = converting.then((converted) => converted[index] as StoredObject);
      this.#underWay.set(stored, one);
      // Waiting callers get the failure. Without this line it would be unhandled when there are none.
      one.catch(() => undefined);
    }
    try {
      const converted = await converting;
      for (const [index, stored] of batch.entries()) this.#known.set(stored, converted[index] as StoredObject);
    } finally {
      for (const stored of batch) this.#underWay.delete(stored);
    }
  }

  async #convert(batch: readonly StoredObject[], context: ConversionContext): Promise<readonly StoredObject[]> {
    const slice = new TurnSlice();
    const objects: StoredObject['object'][] = [];
    for (const stored of batch) {
      const isLarge = stored.storedBytes >= largeObjectBytes;
      objects.push(isLarge ? await parsed(stored) : stored.view((object) => object));
      if (slice.endsHere()) await slice.nextTurn();
    }
    const converted = await this.#conversion.convert(objects, this.#apiVersion, context);
    slice.begin();
    const results: StoredObject[] = [];
    for (const [index, stored] of batch.entries()) {
      results.push(await this.#storedAs(stored, converted[index] as UnstructuredObject));
      if (slice.endsHere()) await slice.nextTurn();
    }
    return results;
  }

  async #storedAs(source: StoredObject, object: UnstructuredObject): Promise<StoredObject> {
    const isLarge = source.storedBytes >= largeObjectBytes;
    const bytes = encoder.encode(await runInTurns(stringifyInSlices(object)));
    const stored = new Stored<UnstructuredObject>(source.key, source.revision, this.#shared(object));
    stored.storedBytes = source.storedBytes;
    stored.rememberEncoded(jsonEncoding.name, bytes);
    const inTurns = async (): Promise<StoredObject['object']> =>
      this.#shared((await runInTurns(parseJsonInSlices(decoder.decode(bytes)))) as UnstructuredObject);
    stored.rememberParser(
      () => this.#shared(parseJson(decoder.decode(bytes)) as UnstructuredObject),
      isLarge ? inTurns : undefined,
    );
    // Callers read the object in this turn; afterwards its bytes are enough.
    onNextTurn(() => stored.release());
    return stored;
  }

  #shared(object: UnstructuredObject): StoredObject['object'] {
    return this.#freeze ? deepFreeze(object) : object;
  }
}

/** Parses a large object in several turns. An object that was released stays released. */
async function parsed(stored: StoredObject): Promise<StoredObject['object']> {
  const wasReleased = await stored.restore();
  const object = stored.view((seen) => seen);
  if (wasReleased) stored.release();
  return object;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

function* batchesOf(storeds: readonly StoredObject[]): Generator<readonly StoredObject[]> {
  let batch: StoredObject[] = [];
  let bytes = 0;
  for (const stored of new Set(storeds)) {
    const isFull = batch.length >= maxBatchObjects || bytes + stored.storedBytes > maxBatchBytes;
    if (isFull && batch.length > 0) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(stored);
    bytes += stored.storedBytes;
  }
  if (batch.length > 0) yield batch;
}
