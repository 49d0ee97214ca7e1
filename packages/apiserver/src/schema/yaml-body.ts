// YamlBody: a body that a client sent as YAML, which may be JSON. It is read in the turn that needs it;
// http/request/yaml-bodies.ts reads long ones. Used by decode-object.ts and by apply patches.
import { JsonSyntaxError, runWhole, type SlicedWork } from '@kapstan/api/internal';
import { readBodyText } from './body-limits.ts';
import type { JsonDocument } from './json-reader.ts';
import { readYaml } from './yaml-reader.ts';

export interface YamlBody {
  readonly document: JsonDocument;
  /** Repeated keys in YAML, as `line 7: key "a" already set in map`. */
  readonly duplicates: readonly string[];
}

/** Reads one body again at each call. Throws YamlSyntaxError, and StatusError 413 for a body beyond the limits. */
export type YamlReading = () => YamlBody;

/** Reads a body. Throws YamlSyntaxError. */
export function readYamlBody(text: string): YamlBody {
  const json = readJsonInYaml(text);
  if (json !== undefined) return { document: json, duplicates: [] };
  const { value, duplicates } = readYaml(text);
  return { document: { value, repeats: new Map() }, duplicates };
}

/**
 * Clients may send JSON as YAML, since it is valid YAML; its numbers are then those of YAML. Returns undefined when only
 * the YAML reader knows the right error or value: to YAML, a number that no double can hold is a text.
 */
function readJsonInYaml(text: string): JsonDocument | undefined {
  return runWhole(readJsonInYamlInSlices(text));
}

/** Does what {@link readJsonInYaml} does, for a text of any length. */
export function* readJsonInYamlInSlices(text: string): SlicedWork<JsonDocument | undefined> {
  if (!/^[ \r\n]*\{/.test(text)) return undefined;
  try {
    const document = yield* readBodyText(text, 'rounded');
    return document.repeats.size === 0 ? document : undefined;
  } catch (error) {
    if (error instanceof JsonSyntaxError) return undefined;
    throw error;
  }
}
