// DecodePlace: where a decoder is in its document, for its error texts. Moved along by typed-decoder.ts.
import { goTypeName } from './go/go-types.ts';
import type { SchemaNode } from './node/schema-node.ts';

export class DecodePlace {
  /** Names of the fields from the root to the current value, as in Go's errors: without map keys and indexes. */
  readonly #fields: string[];
  /** The structs that contain these fields, and the one that is being read. */
  readonly #structs: SchemaNode[] = [];
  /** The steps from the root to the current value, as written in complaints. */
  readonly #path: string[];

  /** Begins at the root of a document, or below it at this path and these fields. */
  constructor(path: string | undefined, fields: readonly string[] = []) {
    this.#path = path === undefined ? [] : [path];
    this.#fields = [...fields];
  }

  get fields(): readonly string[] {
    return this.#fields;
  }

  /** The path of the current value, for example "spec.containers[0]". */
  get text(): string {
    return this.#path.join('');
  }

  enter(name: string): void {
    this.#path.push(this.#path.length === 0 ? name : `.${name}`);
  }

  enterItem(index: number): void {
    this.#path.push(`[${index}]`);
  }

  leave(): void {
    this.#path.pop();
  }

  openStruct(node: SchemaNode): void {
    this.#structs.push(node);
  }

  closeStruct(): void {
    this.#structs.pop();
  }

  openField(name: string): void {
    this.#fields.push(name);
  }

  closeField(): void {
    this.#fields.pop();
  }

  /**
   * Puts the place into an error text as Go does, which names the innermost struct and the fields from the top, with the structs that are
   * embedded: `PodSpec.spec.containers`.
   */
  inContext(text: string): string {
    const struct = this.#structs.at(-1);
    if (struct === undefined || this.#fields.length === 0) return text;
    const fields = this.#fields.flatMap((name, depth) => [...(this.#structs[depth]?.embedded?.get(name) ?? []), name]);
    const where = `${goTypeName(struct).replace(/^.*\./, '')}.${fields.join('.')}`;
    return text.replace(/ into Go value of type /, ` into Go struct field ${where} of type `);
  }
}
