// YamlBody: what a client sent as YAML, which JSON is too. Read in the turn that asks for it; http/request/yaml-bodies.ts has long ones
// read elsewhere. Used by decode-object.ts and by apply patches.
import { JsonSyntaxError, runWhole, type SlicedWork } from '@kapstan/api/internal';
import { type JsonDocument, readJsonText } from './json-reader.ts';
import { readYaml } from './yaml-reader.ts';

export interface YamlBody {
  readonly document: JsonDocument;
  /** Keys that YAML sets again, as `line 7: key "a" already set in map`. */
  readonly duplicates: readonly string[];
}

/** Reads one body, anew at each call. Throws YamlSyntaxError, and StatusError 413 for more than is read. */
export type YamlReading = () => YamlBody;

/** Throws YamlSyntaxError. */
export function readYamlBody(text: string): YamlBody {
  const json = readJsonInYaml(text);
  if (json !== undefined) return { document: json, duplicates: [] };
  const { value, duplicates } = readYaml(text);
  return { document: { value, repeats: new Map() }, duplicates };
}

/** Clients send JSON as YAML, which it is. Undefined where only the YAML reader knows what to say. */
function readJsonInYaml(text: string): JsonDocument | undefined {
  return runWhole(readJsonInYamlInSlices(text));
}

/** The same for a text of any length. */
export function* readJsonInYamlInSlices(text: string): SlicedWork<JsonDocument | undefined> {
  if (!/^[ \r\n]*\{/.test(text)) return undefined;
  try {
    const document = yield* readJsonText(text);
    return document.repeats.size === 0 ? document : undefined;
  } catch (error) {
    if (error instanceof JsonSyntaxError) return undefined;
    throw error;
  }
}
