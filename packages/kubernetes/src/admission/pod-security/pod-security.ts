// PodSecurity refuses pods that violate the policy in the labels of their namespace, and warns about pods and templates
// that would violate it. Source: plugin/pkg/admission/security/podsecurity, pod-security-admission/admission.

import type { Clock, DeepReadonly, KubernetesObject, StatusError } from '@kapstan/api';
import { type FieldError, forbidden, formatFieldErrors, internalError, invalid } from '@kapstan/api/errors';
import { type GroupVersionResource, goQuote, type MetricFamily, type SlicedWork } from '@kapstan/api/internal';
import type { AdmissionAttributes, AdmissionPlugin, ObjectReader } from '@kapstan/apiserver';
import type { Pod } from '@kapstan/kinds/core/v1';
import { runInTurns } from '@kapstan/storage';
import { compareLevels, formatLevelVersion, type LevelVersion } from './level-version.ts';
import { strictPolicyWarnings } from './namespace-pods.ts';
import {
  isPrivileged,
  isSamePolicy,
  labelPrefix,
  type Mode,
  type NamespacePolicy,
  type ReadPolicy,
  readPolicy,
} from './namespace-policy.ts';
import type { CheckedPod } from './pod-check.ts';
import { formatViolations, violationsInSlices } from './pod-checks.ts';
import type { PodSecurityConfiguration } from './pod-security-configuration.ts';
import { PodSecurityMetrics } from './pod-security-metrics.ts';
import { podIn, templateResources } from './pod-template.ts';

const namespaces: GroupVersionResource = { group: '', version: 'v1', resource: 'namespaces' };
/** Maximum time that a client waits for the warnings about the pods of its namespace. */
const maxPodsMs = 1_000;
const pods: GroupVersionResource = { group: '', version: 'v1', resource: 'pods' };
/** Subresources that change nothing about the running containers. Others may. */
const harmlessSubresources: ReadonlySet<string> = new Set([
  'exec',
  'attach',
  'binding',
  'eviction',
  'log',
  'portforward',
  'proxy',
  'status',
]);

type Meta = DeepReadonly<KubernetesObject>;

export interface PodSecurityOptions {
  readonly reader: ObjectReader;
  readonly clock: Clock;
  readonly configuration: PodSecurityConfiguration;
}

export class PodSecurity implements AdmissionPlugin {
  readonly name = 'PodSecurity';
  readonly validatedResources: readonly string[] = ['namespaces', 'pods', ...templateResources];
  readonly #reader: ObjectReader;
  readonly #clock: Clock;
  readonly #configuration: PodSecurityConfiguration;
  readonly #metrics = new PodSecurityMetrics();

  constructor({ reader, clock, configuration }: PodSecurityOptions) {
    this.#reader = reader;
    this.#clock = clock;
    this.#configuration = configuration;
  }

  families(): MetricFamily[] {
    return this.#metrics.families();
  }

  validate(attributes: AdmissionAttributes): Promise<void> | void {
    const { group, resource } = attributes.resource;
    if (group === '' && resource === 'namespaces') return this.#validateNamespace(attributes);
    const isPod = group === '' && resource === 'pods';
    const { subresource } = attributes;
    if (isPod ? harmlessSubresources.has(subresource) : subresource !== '') return;
    return this.#validatePod(attributes, isPod);
  }

  async #validateNamespace(attributes: AdmissionAttributes): Promise<void> {
    const { object, oldObject, subresource, operation } = attributes;
    if (subresource !== '' || object === undefined) return;
    const next = this.#policyOf(object);
    if (operation === 'CREATE') {
      if (next.errors.length > 0) throw invalidLabels(attributes, next.errors);
      if (this.#isExemptNamespace(attributes)) this.#warnOfExemption(attributes, next.policy);
      return;
    }
    if (oldObject === undefined) return;
    const old = this.#policyOf(oldObject);
    const wasSame = formatFieldErrors(next.errors) === formatFieldErrors(old.errors);
    if (next.errors.length > 0 && !wasSame) throw invalidLabels(attributes, next.errors);
    const { enforce } = next.policy;
    if (!isStricter(enforce, old.policy.enforce)) return;
    if (this.#isExemptNamespace(attributes)) return this.#warnOfExemption(attributes, next.policy);
    await this.#warnOfPods(attributes, enforce);
  }

  #policyOf({ metadata }: Meta): ReadPolicy {
    return readPolicy(metadata?.labels, this.#configuration.defaults);
  }

  #isExemptNamespace({ namespace }: AdmissionAttributes): boolean {
    return namespace !== '' && this.#configuration.exemptions.namespaces.has(namespace);
  }

  /** Warns that the labels of a namespace have no effect. */
  #warnOfExemption({ object, name, context }: AdmissionAttributes, policy: NamespacePolicy): void {
    if (isPrivileged(policy) || isSamePolicy(policy, this.#configuration.defaults)) return;
    const labels = object?.metadata?.labels ?? {};
    const modes: readonly Mode[] = ['enforce', 'audit', 'warn'];
    const set = modes.filter((mode) => {
      const isLabeled =
        Object.hasOwn(labels, labelPrefix + mode) || Object.hasOwn(labels, `${labelPrefix}${mode}-version`);
      return isLabeled && policy[mode].level !== 'privileged';
    });
    const shown = set.map((mode) => `${mode}=${formatLevelVersion(policy[mode])}`).join(', ');
    const who = `namespace ${goQuote(object?.metadata?.name ?? name)} is exempt from Pod Security`;
    context.warn(`${who}, and the policy (${shown}) will be ignored`);
  }

  async #warnOfPods({ name, context }: AdmissionAttributes, enforce: LevelVersion): Promise<void> {
    const { runtimeClasses } = this.#configuration.exemptions;
    const untilMs = this.#clock.monotonicNow() + maxPodsMs;
    let existing: Awaited<ReturnType<ObjectReader['listIn']>>;
    try {
      existing = await this.#reader.listIn(pods, name);
    } catch {
      // The labels of a namespace must not depend on whether its pods can be read.
      return context.warn('failed to list pods while checking new PodSecurity enforce level');
    }
    const warnings = await runInTurns(
      strictPolicyWarnings({
        namespace: name,
        pods: existing,
        enforce,
        isExempt: (runtimeClass) => runtimeClasses.has(runtimeClass),
        clock: this.#clock,
        untilMs,
      }),
      context.signal,
    );
    for (const text of warnings) context.warn(text);
  }

  /** `isPod` is false for a kind that makes pods, which is only warned of. */
  async #validatePod(attributes: AdmissionAttributes, isPod: boolean): Promise<void> {
    const { object, oldObject, context, operation } = attributes;
    const exemption = this.#exemptionOf(attributes);
    if (exemption !== undefined) return this.#noteExemption(attributes, exemption);
    const read = await this.#policyOfNamespace(attributes, isPod);
    if (read === undefined) return;
    const { policy, errors } = read;
    const { enforce, audit, warn } = policy;
    if (errors.length === 0 && isPod && isPrivileged(policy)) {
      this.#metrics.countEvaluation(attributes, { mode: 'enforce', policy: enforce, decision: 'allow' });
      context.annotate?.(`${labelPrefix}enforce-policy`, 'privileged:latest');
      return;
    }
    if (errors.length === 0 && !isPod && warn.level === 'privileged' && audit.level === 'privileged') return;
    const pod = object && podIn(attributes.resource, object);
    if (pod === undefined) return;
    if (isPod && operation === 'UPDATE' && object !== undefined && !changesImages(object, oldObject)) return;
    if (this.#configuration.exemptions.runtimeClasses.has(pod.spec.runtimeClassName ?? '')) {
      return this.#noteExemption(attributes, 'runtimeClass');
    }
    if (errors.length > 0) this.#noteErrors(attributes, errors);
    await runInTurns(this.#evaluate(attributes, pod, { policy, isEnforced: isPod }), context.signal);
  }

  #exemptionOf(attributes: AdmissionAttributes): 'namespace' | 'user' | undefined {
    if (this.#isExemptNamespace(attributes)) return 'namespace';
    const { name } = attributes.context.user;
    return name !== '' && this.#configuration.exemptions.usernames.has(name) ? 'user' : undefined;
  }

  #noteExemption(attributes: AdmissionAttributes, reason: 'namespace' | 'user' | 'runtimeClass'): void {
    this.#metrics.countExemption(attributes);
    attributes.context.annotate?.(`${labelPrefix}exempt`, reason);
  }

  #noteErrors(attributes: AdmissionAttributes, errors: readonly FieldError[]): void {
    attributes.context.annotate?.(`${labelPrefix}error`, `Failed to parse policy: ${formatFieldErrors(errors)}`);
    this.#metrics.countError(attributes, false);
  }

  /** Returns undefined when nobody knows the namespace of a template. A pod is refused then. */
  async #policyOfNamespace(attributes: AdmissionAttributes, isPod: boolean): Promise<ReadPolicy | undefined> {
    const { namespace: name, context } = attributes;
    const target = { namespace: '', name };
    const cached = await this.#reader.get(namespaces, target, 'cached');
    const found = cached ?? (await this.#reader.get(namespaces, target, 'live'));
    if (found !== undefined) return this.#policyOf(found);
    this.#metrics.countError(attributes, true);
    const error = internalError(new Error(`failed to lookup namespace ${goQuote(name)}`));
    context.annotate?.(`${labelPrefix}error`, error.message);
    if (isPod) throw error;
    return undefined;
  }

  *#evaluate(
    attributes: AdmissionAttributes,
    pod: CheckedPod,
    { policy, isEnforced }: { readonly policy: NamespacePolicy; readonly isEnforced: boolean },
  ): SlicedWork<void> {
    const { context, resource, name } = attributes;
    const texts = new Map<string, string>();
    /** Returns the violations in one text, "" when there are none. Modes of one policy are evaluated once. */
    const evaluate = function* (this: PodSecurity, mode: Mode): SlicedWork<string> {
      const key = formatLevelVersion(policy[mode]);
      const text = texts.get(key) ?? formatViolations(yield* violationsInSlices(pod, policy[mode]));
      texts.set(key, text);
      const decision = text === '' ? 'allow' : 'deny';
      // Source: EvaluatePod, which counts allowed pods only for the mode that refuses.
      if (text !== '' || mode === 'enforce')
        this.#metrics.countEvaluation(attributes, { mode, policy: policy[mode], decision });
      return text;
    }.bind(this);
    const shown = (mode: Mode): string => `PodSecurity ${goQuote(formatLevelVersion(policy[mode]))}`;
    if (isEnforced) context.annotate?.(`${labelPrefix}enforce-policy`, formatLevelVersion(policy.enforce));
    const refused = isEnforced ? yield* evaluate('enforce') : '';
    const audited = yield* evaluate('audit');
    if (audited !== '')
      context.annotate?.(`${labelPrefix}audit-violations`, `would violate ${shown('audit')}: ${audited}`);
    if (refused !== '') throw forbidden(resource, name, `violates ${shown('enforce')}: ${refused}`);
    const warned = yield* evaluate('warn');
    if (warned !== '') context.warn(`would violate ${shown('warn')}: ${warned}`);
  }
}

/** False when the present pods cannot violate the new policy, because it is not stricter. */
function isStricter(next: LevelVersion, old: LevelVersion): boolean {
  if (next.level === 'privileged') return false;
  return next.version !== old.version || compareLevels(next.level, old.level) > 0;
}

function invalidLabels({ kind, name }: AdmissionAttributes, errors: readonly FieldError[]): StatusError {
  return invalid(kind, name, errors);
}

/** Returns true when an image changed or an ephemeral container was added. Source: isSignificantPodUpdate. */
function changesImages(next: Meta, old: Meta | undefined): boolean {
  const before = (old as DeepReadonly<Pod> | undefined)?.spec;
  const after = (next as DeepReadonly<Pod>).spec;
  if (before === undefined || after === undefined) return true;
  if (imagesOf(after.containers).join('\n') !== imagesOf(before.containers).join('\n')) return true;
  if (imagesOf(after.initContainers).join('\n') !== imagesOf(before.initContainers).join('\n')) return true;
  const images = new Map((before.ephemeralContainers ?? []).map(({ name, image }) => [name, image]));
  return (after.ephemeralContainers ?? []).some(({ name, image }) => !images.has(name) || images.get(name) !== image);
}

function imagesOf(containers: readonly { readonly image?: string }[] | undefined): string[] {
  return (containers ?? []).map(({ image = '' }) => image);
}
