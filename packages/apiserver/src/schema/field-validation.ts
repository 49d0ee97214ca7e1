// Collects unknown and repeated fields for ?fieldValidation=, which refuses them, warns of them or ignores them. Filled
// by typed-decoder.ts and the readers, used by decode-object.ts and patch/apply-patch.ts.

import { goQuote } from '@kapstan/api/internal';

export type FieldValidation = 'Ignore' | 'Warn' | 'Strict';

/** Maximum number of complaints kept for one document. Source: sigs.k8s.io/json, maxStrictErrors. */
const maxStrictErrors = 100;

/** The complaints about one document in the order found, each text once. */
export class StrictErrors {
  readonly #texts = new Set<string>();
  readonly #quote: (path: string) => string;

  /** `quote` shows the path of an unknown field: quoted as Go does unless given. */
  constructor(quote: (path: string) => string = goQuote) {
    this.#quote = quote;
  }

  add(text: string): void {
    if (this.#texts.size < maxStrictErrors) this.#texts.add(text);
  }

  unknownField(path: string): void {
    this.add(`unknown field ${this.#quote(path)}`);
  }

  duplicateField(path: string): void {
    this.add(`duplicate field ${goQuote(path)}`);
  }

  texts(): readonly string[] {
    return [...this.#texts];
  }
}

/** Returns the text of the error under Strict. Source: runtime.NewStrictDecodingError. */
export function strictDecodingText(texts: readonly string[]): string {
  return `strict decoding error: ${texts.join(', ')}`;
}

const yamlPrefix = /^(?:error converting YAML to JSON: )?yaml: unmarshal errors:\n/;

/** Returns the Warning headers of one complaint under Warn; complaints about YAML have several lines. */
export function warningTexts(complaint: string): readonly string[] {
  if (!yamlPrefix.test(complaint)) return [complaint];
  return complaint
    .replace(yamlPrefix, '')
    .split('\n')
    .map((line) => line.trim());
}

/** Returns all repeated keys of a YAML text as one complaint, as Go's YAML reader reports them. */
export function yamlDuplicatesText(duplicates: readonly string[]): string {
  return `yaml: unmarshal errors:\n${duplicates.map((line) => `  ${line}`).join('\n')}`;
}
