// PolicySet: the policies of one kind in force, compiled, with their bindings. Filled from the store; read by the admission plug-ins.
// Source: plugin/policy/generic/policy_source.go.
import type { Clock, DeepReadonly, KubernetesObject } from '@kapstan/api';
import { type SlicedWork, TurnSlice } from '@kapstan/api/internal';
import type { AdmissionPolicy, BoundPolicy, PolicyBinding, PolicySource } from '@kapstan/apiserver/internal';

type Stored = DeepReadonly<KubernetesObject>;

export interface PolicySetOptions<P extends AdmissionPolicy> {
  /** Compiles a stored policy. */
  readonly compile: (stored: Stored) => SlicedWork<P>;
  readonly readBinding: (stored: Stored) => PolicyBinding;
  readonly clock: Clock;
}

interface CompiledPolicy<P> {
  readonly uid: string | undefined;
  readonly generation: number | undefined;
  readonly policy: P;
}

export class PolicySet<P extends AdmissionPolicy> implements PolicySource<P> {
  readonly #options: PolicySetOptions<P>;
  #policies = new Map<string, Stored>();
  #bindings = new Map<string, PolicyBinding>();
  /** Policies are compiled again only when their specification has changed. */
  readonly #compiled = new Map<string, CompiledPolicy<P>>();
  readonly #known = new Set<'policies' | 'bindings'>();
  #inForce: readonly BoundPolicy<P>[] = [];
  #hasSynced = false;
  #isStale = false;
  #isRefreshing = false;
  #isClosed = false;

  constructor(options: PolicySetOptions<P>) {
    this.#options = options;
  }

  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  get policies(): readonly BoundPolicy<P>[] {
    return this.#inForce;
  }

  setPolicy(policy: Stored): void {
    this.#policies.set(nameOf(policy), policy);
    this.#changed();
  }

  deletePolicy(policy: Stored): void {
    this.#policies.delete(nameOf(policy));
    this.#changed();
  }

  replacePolicies(policies: Iterable<Stored>): void {
    this.#policies = new Map(Array.from(policies, (policy) => [nameOf(policy), policy]));
    this.#known.add('policies');
    this.#changed();
  }

  setBinding(binding: Stored): void {
    this.#bindings.set(nameOf(binding), this.#options.readBinding(binding));
    this.#changed();
  }

  deleteBinding(binding: Stored): void {
    this.#bindings.delete(nameOf(binding));
    this.#changed();
  }

  replaceBindings(bindings: Iterable<Stored>): void {
    this.#bindings = new Map(Array.from(bindings, (binding) => [nameOf(binding), this.#options.readBinding(binding)]));
    this.#known.add('bindings');
    this.#changed();
  }

  /** Stops compiling. Idempotent. */
  close(): void {
    this.#isClosed = true;
  }

  #changed(): void {
    this.#isStale = true;
    if (this.#known.size === 2 && !this.#isRefreshing) void this.#refresh();
  }

  /** Small changes take effect at once; many policies are compiled in several turns and then change in one step. */
  async #refresh(): Promise<void> {
    this.#isRefreshing = true;
    const slice = new TurnSlice({ clock: this.#options.clock, itemsPerLook: 1 });
    while (this.#isStale && !this.#isClosed) {
      this.#isStale = false;
      const work = this.#compileBound();
      for (let step = work.next(); ; step = work.next()) {
        if (step.done === true) {
          this.#inForce = step.value;
          this.#hasSynced = true;
          break;
        }
        const rest = restAfter(step.value, slice);
        if (rest !== undefined) await rest;
        if (this.#isClosed) break;
      }
    }
    this.#isRefreshing = false;
  }

  *#compileBound(): SlicedWork<readonly BoundPolicy<P>[]> {
    const bindings = byPolicy(this.#bindings);
    const inForce: BoundPolicy<P>[] = [];
    for (const name of [...bindings.keys()].sort()) {
      const stored = this.#policies.get(name);
      if (stored === undefined) continue;
      inForce.push({ policy: yield* this.#compile(name, stored), bindings: bindings.get(name) ?? [] });
    }
    for (const name of this.#compiled.keys()) if (!bindings.has(name)) this.#compiled.delete(name);
    return inForce;
  }

  *#compile(name: string, stored: Stored): SlicedWork<P> {
    const { uid, generation } = stored.metadata ?? {};
    const known = this.#compiled.get(name);
    if (known !== undefined && known.uid === uid && known.generation === generation) return known.policy;
    const policy = yield* this.#options.compile(stored);
    this.#compiled.set(name, { uid, generation, policy });
    return policy;
  }
}

function nameOf({ metadata }: Stored): string {
  return metadata?.name ?? '';
}

/** Returns the bindings in the order of their names, by the names of their policies. */
function byPolicy(bindings: ReadonlyMap<string, PolicyBinding>): ReadonlyMap<string, readonly PolicyBinding[]> {
  const groups = new Map<string, PolicyBinding[]>();
  for (const binding of [...bindings.values()].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const group = groups.get(binding.policyName);
    if (group === undefined) groups.set(binding.policyName, [binding]);
    else group.push(binding);
  }
  return groups;
}

/** Returns the promise for which the work waits before it goes on; undefined when it goes on in this turn. */
function restAfter(answer: Promise<void> | undefined, slice: TurnSlice): Promise<void> | undefined {
  return answer ?? (slice.endsHere() ? slice.nextTurn() : undefined);
}
