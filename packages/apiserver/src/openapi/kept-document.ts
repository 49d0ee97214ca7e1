// KeptDocument makes one document in the forms that are requested. It keeps small ones for good and large ones only while
// somebody uses them: a server with a thousand definitions has documents of 70 MB that are hardly ever read. Used by
// openapi-documents.ts and swagger-documents.ts.

/** Documents of at most so many bytes are kept. */
const keptBytes = 4 * 1024 * 1024;

export class KeptDocument<Form extends string> {
  readonly #make: (form: Form) => Promise<Uint8Array>;
  readonly #making = new Map<Form, Promise<Uint8Array>>();
  readonly #small = new Map<Form, Uint8Array>();
  readonly #large = new Map<Form, WeakRef<Uint8Array>>();

  constructor(make: (form: Form) => Promise<Uint8Array>) {
    this.#make = make;
  }

  /** Several who ask at once get the same bytes. */
  async bytes(form: Form): Promise<Uint8Array> {
    const present = this.#small.get(form) ?? this.#large.get(form)?.deref();
    if (present !== undefined) return present;
    const making = this.#making.get(form) ?? this.#makeAndKeep(form);
    this.#making.set(form, making);
    return making;
  }

  async #makeAndKeep(form: Form): Promise<Uint8Array> {
    try {
      const bytes = await this.#make(form);
      if (bytes.length <= keptBytes) this.#small.set(form, bytes);
      else this.#large.set(form, new WeakRef(bytes));
      return bytes;
    } finally {
      this.#making.delete(form);
    }
  }
}
