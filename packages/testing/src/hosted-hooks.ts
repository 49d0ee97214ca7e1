// HostedHooks lets the server of a test cluster call the webhooks of controllers as functions. Used by test-cluster.ts.
import type { AdmissionHook, ConversionHook, ProgramHooks } from '@kapstan/api/internal';
import { type AdmissionFunctions, admitWithHook } from '@kapstan/apiserver';
import type { ConversionFunctions } from '@kapstan/control-plane';

interface HostedHooksOptions {
  readonly admission: AdmissionFunctions;
  readonly conversions: ConversionFunctions;
}

/** Holds the hooks of a test's managers. Of two replicas the later one is called, as a Service also sends a call to only one. */
export class HostedHooks {
  readonly #options: HostedHooksOptions;
  readonly #admission = new Map<string, { readonly hooks: AdmissionHook[]; remove: () => void }>();
  readonly #conversions = new Map<string, ConversionHook[]>();

  constructor(options: HostedHooksOptions) {
    this.#options = options;
  }

  /** Lets the server call the hooks until the returned function is called. That is idempotent. */
  host({ admission, conversions }: ProgramHooks): () => void {
    const removals = [
      ...admission.map((hook) => this.#addAdmission(hook)),
      ...conversions.map((hook) => this.#addConversion(hook)),
    ];
    return () => {
      for (const remove of removals.splice(0)) remove();
    };
  }

  #addAdmission(hook: AdmissionHook): () => void {
    const entry = this.#admission.get(hook.name) ?? { hooks: [], remove: () => undefined };
    this.#admission.set(hook.name, entry);
    const install = (): void => {
      entry.remove();
      const last = entry.hooks.at(-1);
      entry.remove = last === undefined ? () => undefined : this.#options.admission.add(admitWithHook(last));
    };
    entry.hooks.push(hook);
    install();
    return () => {
      entry.hooks.splice(entry.hooks.indexOf(hook), 1);
      install();
    };
  }

  #addConversion(hook: ConversionHook): () => void {
    const hooks = this.#conversions.get(hook.definition) ?? [];
    this.#conversions.set(hook.definition, hooks);
    const install = (): void => {
      const last = hooks.at(-1);
      this.#options.conversions.set(hook.definition, last && ((object, change) => last.convert(object, change)));
    };
    hooks.push(hook);
    install();
    return () => {
      hooks.splice(hooks.indexOf(hook), 1);
      install();
    };
  }
}
