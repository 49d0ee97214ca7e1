// KeptDocument makes one document in the requested forms. It keeps a small one for good and a large one only while it
// is in use: a server with a thousand definitions has documents of 70 MB that are rarely read. Used by
// openapi-documents.ts and swagger-documents.ts.

/** Largest document that is kept, in bytes. */
const keptBytes = 4 * 1024 * 1024;

export class KeptDocument<Form extends string> {
  readonly #make: (form: Form) => Promise<Uint8Array>;
  readonly #making = new Map<Form, Promise<Uint8Array>>();
  readonly #small = new Map<Form, Uint8Array>();
  readonly #large = new Map<Form, WeakRef<Uint8Array>>();

  constructor(make: (form: Form) => Promise<Uint8Array>) {
    this.#make = make;
  }

  /** Simultaneous requests get the same bytes. */
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
