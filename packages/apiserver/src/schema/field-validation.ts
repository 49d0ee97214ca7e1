// What ?fieldValidation= decides: unknown and repeated fields are refused, warned of, or passed over. Filled by
// typed-decoder.ts and the readers, judged by decode-object.ts and patch/apply-patch.ts.

export type FieldValidation = 'Ignore' | 'Warn' | 'Strict';

/** Most complaints that are kept of one document. Source: sigs.k8s.io/json, maxStrictErrors. */
const maxStrictErrors = 100;

/** The complaints about one document, in the order they were found, each text once. */
export class StrictErrors {
  readonly #texts = new Set<string>();

  add(text: string): void {
    if (this.#texts.size < maxStrictErrors) this.#texts.add(text);
  }

  unknownField(path: string): void {
    this.add(`unknown field "${path}"`);
  }

  duplicateField(path: string): void {
    this.add(`duplicate field "${path}"`);
  }

  texts(): readonly string[] {
    return [...this.#texts];
  }
}

/** The error that Strict makes of them. Source: runtime.NewStrictDecodingError. */
export function strictDecodingText(texts: readonly string[]): string {
  return `strict decoding error: ${texts.join(', ')}`;
}

const yamlPrefix = /^(?:error converting YAML to JSON: )?yaml: unmarshal errors:\n/;

/** The Warning headers that Warn makes of one complaint: those of YAML hold several lines. */
export function warningTexts(complaint: string): readonly string[] {
  return complaint
    .replace(yamlPrefix, '')
    .split('\n')
    .map((line) => line.trim());
}

/** All of one YAML text's repeated keys as one complaint, the form in which Go's YAML reader reports them. */
export function yamlDuplicatesText(duplicates: readonly string[]): string {
  return `yaml: unmarshal errors:\n${duplicates.map((line) => `  ${line}`).join('\n')}`;
}
