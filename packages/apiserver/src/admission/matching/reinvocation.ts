// PluginReinvocation remembers which webhooks or policies of a request must be called again because others changed the object after them.
// Used by mutating-webhooks.ts and mutating-policies.ts. Source: plugin/webhook/mutating webhookReinvokeContext, plugin/policy/mutating
// policyReinvokeContext.
import type { KubernetesObject } from '@kapstan/api';
import { copyInSlices } from '@kapstan/api/internal';
import { runInTurns } from '@kapstan/storage';
import { jsonEqualInSlices } from '../../registry/meta/json-equality.ts';
import type { AdmissionAttributes, Reinvocation } from '../../registry/store/admission-control.ts';

export class PluginReinvocation {
  readonly #attributes: AdmissionAttributes;
  /** Plug-ins called since the object last changed that want to be called again if it changes. */
  readonly #called = new Set<string>();
  readonly #due = new Set<string>();
  #last: KubernetesObject | undefined;

  private constructor(attributes: AdmissionAttributes) {
    this.#attributes = attributes;
  }

  /** Returns the state of the request in a plug-in, which both rounds share. */
  static of(attributes: AdmissionAttributes, plugin: string): PluginReinvocation {
    attributes.reinvocation ??= { isNeeded: false, isSecond: false, states: new Map() };
    const { states } = attributes.reinvocation;
    const known = states.get(plugin) as PluginReinvocation | undefined;
    if (known !== undefined) return known;
    const made = new PluginReinvocation(attributes);
    states.set(plugin, made);
    return made;
  }

  get isSecond(): boolean {
    return this.#attributes.reinvocation?.isSecond === true;
  }

  /** Begins a round. Plug-ins of the server may have changed the object since the last one. */
  async begin(): Promise<void> {
    if (!this.isSecond) return;
    if (!(await runInTurns(jsonEqualInSlices(this.#last, this.#attributes.object)))) this.#callAgain();
  }

  /** Ends a round. */
  async end(): Promise<void> {
    // The comparison is only needed when a second round takes place, and only in the first.
    if (this.#attributes.reinvocation?.isNeeded !== true || this.isSecond) return;
    const { object } = this.#attributes;
    this.#last = object === undefined ? undefined : ((await runInTurns(copyInSlices(object))) as KubernetesObject);
  }

  isDue(id: string): boolean {
    return this.#due.has(id);
  }

  /** Called when a webhook or policy changed the object. */
  changed(): void {
    this.#callAgain();
    (this.#attributes.reinvocation as Reinvocation).isNeeded = true;
  }

  called(id: string): void {
    this.#called.add(id);
  }

  #callAgain(): void {
    for (const id of this.#called) this.#due.add(id);
    this.#called.clear();
  }
}
