// SharedParameters collects the parameters that many operations of a v2 document share, each under its own name.
// swagger-schema.ts adds them, swagger-documents.ts writes them. Source: kube-openapi builder/parameters.go.
import { isJsonObject } from '@kapstan/api/internal';

type Json = Readonly<Record<string, unknown>>;

/** Parameters that are never shared, because old versions of kubectl look for them in the operation itself. */
const alwaysTold: ReadonlySet<unknown> = new Set(['name', 'fieldValidation', 'dryRun']);
const prime = 0x100000001b3n;
const offset = 0xcbf29ce484222325n;

export class SharedParameters {
  readonly #references = new Map<string, Json>();
  readonly #parameters = new Map<string, Json>();

  /** Returns a reference, or the parameter itself when it is not shared. */
  refTo(parameter: Json): Json {
    if (!isShareable(parameter)) return parameter;
    const text = JSON.stringify(parameter);
    const known = this.#references.get(text);
    if (known !== undefined) return known;
    const name = `${String(parameter.name)}-${hashOf(text)}`;
    const reference = { $ref: `#/parameters/${name}` };
    this.#references.set(text, reference);
    this.#parameters.set(name, parameter);
    return reference;
  }

  /** Returns all referenced parameters, sorted by name. */
  all(): readonly (readonly [string, Json])[] {
    return [...this.#parameters].sort(([a], [b]) => (a < b ? -1 : 1));
  }
}

function isShareable({ name, in: place, schema }: Json): boolean {
  if (place !== 'body') return !alwaysTold.has(name);
  const reference = isJsonObject(schema) ? schema.$ref : undefined;
  return typeof reference === 'string' && reference.startsWith('#/definitions/io.k8s.apimachinery');
}

/** Returns eight letters. Source: hash/fnv New64. */
function hashOf(text: string): string {
  let hash = offset;
  for (const byte of Buffer.from(text)) hash = BigInt.asUintN(64, hash * prime) ^ BigInt(byte);
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(hash);
  return bytes.subarray(0, 6).toString('base64').replaceAll('+', '-').replaceAll('/', '_');
}
