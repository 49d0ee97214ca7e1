// Rules for an AuthorizationConfiguration, which also compile its conditions. Used at the start and at each reload, so they run in
// slices. Source: apiserver
// pkg/apis/apiserver/validation (ValidateAuthorizationConfiguration), pkg/kubeapiserver/authorizer (LoadAndValidateData).
import { aggregateTexts, dnsSubdomainErrors, formatFieldErrors } from '@kapstan/api/errors';
import type { SlicedWork } from '@kapstan/api/internal';
import type { CompiledExpression } from '@kapstan/cel';
import { collectFieldErrorsInSlices, type Field } from '../registry/meta/field.ts';
import { jsonEqualInSlices } from '../registry/meta/json-equality.ts';
import { formatGoDuration } from '../schema/go/go-duration.ts';
import type { AuthorizerConfiguration, WebhookConfiguration } from './authorization-configuration.ts';
import { ConditionFault, compileCondition, ReviewConditions } from './review-conditions.ts';

/** The only type that may be listed several times. */
const webhookType = 'Webhook';

export interface AuthorizationRulesPorts {
  /** Types that the server knows. */
  readonly types: readonly string[];
  /**
   * Returns the reason why a file cannot be used: "must be a regular file", "error loading file: …"; undefined = it
   * can.
   */
  readonly faultOfFile: (path: string) => string | undefined;
  /** Types that must be listed, because they were listed when the server started. Default none. */
  readonly required?: ReadonlySet<string>;
}

/** Authorizers that have passed the rules, and the conditions of each webhook that has some. */
export interface CheckedAuthorizers {
  readonly authorizers: readonly AuthorizerConfiguration[];
  readonly conditions: ReadonlyMap<WebhookConfiguration, ReviewConditions>;
}

/** Returns whether two files mean the same, however they are written. */
export function sameAuthorizers(
  a: readonly AuthorizerConfiguration[],
  b: readonly AuthorizerConfiguration[],
): SlicedWork<boolean> {
  return jsonEqualInSlices(a, b);
}

/** Throws an Error with everything that is wrong. */
export function* checkAuthorizers(
  authorizers: readonly AuthorizerConfiguration[],
  ports: AuthorizationRulesPorts,
): SlicedWork<CheckedAuthorizers> {
  const conditions = new Map<WebhookConfiguration, ReviewConditions>();
  const errors = yield* collectFieldErrorsInSlices((root) =>
    root.later(() => validateAuthorizers(root.child('authorizers'), authorizers, { ...ports, conditions })),
  );
  if (errors.length > 0) throw new Error(formatFieldErrors(errors));
  requireTypes(authorizers, ports);
  return { authorizers, conditions };
}

function requireTypes(authorizers: readonly AuthorizerConfiguration[], ports: AuthorizationRulesPorts): void {
  const { required = new Set() } = ports;
  const others = authorizers.filter(({ type }) => type !== webhookType);
  const faults = others.flatMap(({ type, name }) => {
    const expected = nameOfType(type);
    return expected === name ? [] : [`expected name ${expected} for authorizer ${type} instead of ${name}`];
  });
  const missing = [...required].filter((type) => !others.some((other) => other.type === type)).sort();
  if (missing.length > 0) faults.push(`missing required types: [${missing.join(' ')}]`);
  if (faults.length > 0) throw new Error(aggregateTexts(faults));
}

/** The only name that an authorizer of a type other than Webhook may have. */
export function nameOfType(type: string): string {
  return type.toLowerCase();
}

interface RulesRun extends AuthorizationRulesPorts {
  /** Receives the conditions of the webhooks. */
  readonly conditions: Map<WebhookConfiguration, ReviewConditions>;
}

function* validateAuthorizers(
  at: Field,
  authorizers: readonly AuthorizerConfiguration[],
  run: RulesRun,
): SlicedWork<void> {
  if (authorizers.length === 0) return at.required('at least one authorization mode must be defined');
  const types = new Set<string>();
  const names = new Set<string>();
  for (const [index, { type, name, webhook }] of authorizers.entries()) {
    yield;
    const place = at.index(index);
    if (!isNewType(place.child('type'), type, { known: run.types, seen: types })) continue;
    types.add(type);
    validateName(place.child('name'), name, names);
    names.add(name);
    if (type !== webhookType) {
      if (webhook !== undefined)
        place.child('webhook').invalid('non-null', `may only be specified when type=${webhookType}`);
    } else if (webhook === undefined) place.child('webhook').required(`required when type=${webhookType}`);
    // Kubernetes names the fields of a webhook without the member that holds them; we keep its mistake.
    else yield* validateWebhook(place, webhook, run);
  }
}

function isNewType(
  at: Field,
  type: string,
  { known, seen }: { readonly known: readonly string[]; readonly seen: ReadonlySet<string> },
): boolean {
  if (type === '') at.required();
  else if (!known.includes(type)) at.notSupported(type, [...known].sort());
  else if (seen.has(type) && type !== webhookType) at.duplicate(type);
  else return true;
  return false;
}

function validateName(at: Field, name: string, seen: ReadonlySet<string>): void {
  if (name === '') return at.required();
  if (seen.has(name)) return at.duplicate(name);
  const errors = dnsSubdomainErrors(name);
  if (errors.length > 0) at.invalid(name, `authorizer name is invalid: ${errors.join(', ')}`);
}

function* validateWebhook(at: Field, webhook: WebhookConfiguration, run: RulesRun): SlicedWork<void> {
  const { timeoutMs, reviewVersion, conditionReviewVersion, failurePolicy, matchConditions } = webhook;
  const timeout = at.child('timeout');
  if (timeoutMs === 0) timeout.required();
  else if (timeoutMs > 30_000 || timeoutMs < 0) timeout.invalid(formatGoDuration(timeoutMs), 'must be > 0s and <= 30s');
  validateTtl(at.child('authorizedTTL'), webhook.authorizedTtlMs);
  validateTtl(at.child('unauthorizedTTL'), webhook.unauthorizedTtlMs);
  validateChoice(at.child('subjectAccessReviewVersion'), reviewVersion, ['v1', 'v1beta1']);
  const version = at.child('matchConditionSubjectAccessReviewVersion');
  if (conditionReviewVersion !== '') validateChoice(version, conditionReviewVersion, ['v1']);
  else if (matchConditions.length > 0) version.required('required if match conditions are specified');
  validateChoice(at.child('failurePolicy'), failurePolicy, ['NoOpinion', 'Deny']);
  validateConnection(at.child('connectionInfo'), webhook.connection, run.faultOfFile);
  const compiled = yield* compileConditions(at.child('matchConditions'), matchConditions);
  if (compiled.length > 0) run.conditions.set(webhook, new ReviewConditions(compiled));
}

function validateTtl(at: Field, ms: number): void {
  if (ms < 0) at.invalid(formatGoDuration(ms), 'must be > 0s');
}

function validateChoice(at: Field, value: string, choices: readonly string[]): void {
  if (value === '') at.required();
  else if (!choices.includes(value)) at.notSupported(value, choices);
}

function validateConnection(
  at: Field,
  { type, kubeConfigFile }: WebhookConfiguration['connection'],
  faultOfFile: AuthorizationRulesPorts['faultOfFile'],
): void {
  const file = at.child('kubeConfigFile');
  switch (type) {
    case '':
      return at.child('type').required();
    case 'InClusterConfig':
      if (kubeConfigFile !== undefined) file.invalid(kubeConfigFile, 'can only be set when type=KubeConfigFile');
      return;
    case 'KubeConfigFile': {
      if (kubeConfigFile === undefined || kubeConfigFile === '') return file.required();
      if (!kubeConfigFile.startsWith('/')) return file.invalid(kubeConfigFile, 'must be an absolute path');
      const fault = faultOfFile(kubeConfigFile);
      if (fault !== undefined) file.invalid(kubeConfigFile, fault);
      return;
    }
    default:
      at.child('type').notSupported({ Type: type, KubeConfigFile: kubeConfigFile ?? null }, [
        'InClusterConfig',
        'KubeConfigFile',
      ]);
  }
}

const maxConditions = 64;

/** Returns the conditions that compile; all of them unless errors were told. */
function* compileConditions(at: Field, conditions: readonly string[]): SlicedWork<readonly CompiledExpression[]> {
  if (conditions.length > maxConditions) {
    at.tooMany(conditions.length, maxConditions);
    return [];
  }
  const compiled: CompiledExpression[] = [];
  const seen = new Set<string>();
  for (const [index, text] of conditions.entries()) {
    const place = at.index(index).child('expression');
    if (text.trim() === '') place.required();
    else if (seen.has(text)) place.duplicate(text);
    else {
      yield;
      const one = yield* compiledAt(place, text);
      if (one !== undefined) compiled.push(one);
    }
    seen.add(text);
  }
  return compiled;
}

function* compiledAt(at: Field, text: string): SlicedWork<CompiledExpression | undefined> {
  const compiled = yield* compileCondition(text);
  if (!(compiled instanceof ConditionFault)) return compiled;
  if (compiled.isInternal) at.internal(compiled.detail);
  else at.invalid(text, compiled.detail);
  return undefined;
}
