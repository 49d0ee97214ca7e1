// Chooses a transformer by the prefix of the stored bytes: the first entry writes, all entries read. Providers of a
// resource and keys of a provider are combined this way, so that keys can be rotated. Source:
// value.NewPrefixTransformers.
import { messageOf } from '@kapstan/api/internal';
import { startsWith, type Transformed, type Transformer } from './transformer.ts';

/** A transformer, and the prefix of the values that it has written. */
export interface PrefixEntry {
  /**
   * Added in front of the transformer's output, and removed before it reads. "" matches everything; identity has it.
   */
  readonly prefix: string;
  readonly transformer: Transformer;
}

interface Choice {
  readonly prefix: Buffer;
  readonly transformer: Transformer;
}

/**
 * Returns a transformer made of at least one entry. `unmatched` is the error message for bytes that have no entry's
 * prefix.
 */
export function prefixTransformer(entries: readonly PrefixEntry[], unmatched: string): Transformer {
  const choices = entries.map(({ prefix, transformer }) => ({ prefix: Buffer.from(prefix), transformer }));
  const [first] = choices;
  if (first === undefined) throw new TypeError('a prefix transformer needs at least one entry');
  const own: Transformer = {
    fromStorage: (bytes, context) => read(choices, unmatched, { bytes, context }),
    toStorage: (bytes, context) => Buffer.concat([first.prefix, first.transformer.toStorage(bytes, context)]),
  };
  const remote = choices.filter(({ transformer }) => transformer.prepare !== undefined);
  return remote.length === 0 ? own : { ...own, prepare: (bytes) => prepare(remote, bytes) };
}

function read(
  choices: readonly Choice[],
  unmatched: string,
  { bytes, context }: { readonly bytes: Uint8Array; readonly context: string },
): Transformed {
  const errors: unknown[] = [];
  for (const [index, { prefix, transformer }] of choices.entries()) {
    if (!startsWith(bytes, prefix)) continue;
    try {
      const read = transformer.fromStorage(bytes.subarray(prefix.length), context);
      return index === 0 ? read : { bytes: read.bytes, isStale: true };
    } catch (error) {
      // A later entry may have the same prefix with another key, so the loop continues. Identity refusing encrypted
      // bytes is not a failure, because identity may come before the provider from which data is migrated.
      if (prefix.length > 0) errors.push(error);
    }
  }
  if (errors.length === 1) throw errors[0];
  if (errors.length > 1) throw new AggregateError(errors, aggregateMessage(errors));
  throw new TypeError(unmatched);
}

function prepare(choices: readonly Choice[], bytes: Uint8Array): Promise<void> | undefined {
  const needed: Promise<void>[] = [];
  for (const { prefix, transformer } of choices) {
    const need = startsWith(bytes, prefix) ? transformer.prepare?.(bytes.subarray(prefix.length)) : undefined;
    if (need !== undefined) needed.push(need);
  }
  if (needed.length <= 1) return needed[0];
  return Promise.all(needed).then(() => undefined);
}

/** Joins the texts, equal ones once. Source: utilerrors.Aggregate.Error. */
function aggregateMessage(errors: readonly unknown[]): string {
  const texts = [...new Set(errors.map((error) => messageOf(error)))];
  return texts.length === 1 ? String(texts[0]) : `[${texts.join(', ')}]`;
}
