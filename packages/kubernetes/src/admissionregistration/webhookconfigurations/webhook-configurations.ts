// Mutating and validating webhook configurations. Source: pkg/apis/admissionregistration/v1/defaults.go, validation validateWebhook.
import type { DeepReadonly } from '@kapstan/api';
import { dnsSubdomainErrors } from '@kapstan/api/errors';
import type { Field } from '@kapstan/apiserver/internal';
import { dns1035LabelErrors, validateClientConfig } from '@kapstan/apiserver/internal';
import type {
  MutatingWebhook,
  MutatingWebhookConfiguration,
  ValidatingWebhookConfiguration,
} from '@kapstan/kinds/admissionregistration.k8s.io/v1';
import type { BuiltinKind } from '../../builtin/builtin-kind.ts';
import { validateLabelSelector } from '../../validation/label-rules.ts';
import { repetitions } from '../../validation/repetition.ts';
import { setRuleDefaults, validateMatchConditions, validateOperationsRule } from '../rule-defaults.ts';
import { staticSuffixWarnings } from '../static-suffix.ts';

export const mutatingWebhookConfigurations: BuiltinKind<MutatingWebhookConfiguration> = {
  id: 'admissionregistration.k8s.io/v1/mutatingwebhookconfigurations',
  countsEmpties: true,
  strategy: { updateMetadata: 'whole', finalizerNames: 'Qualified' },
  warnings: staticSuffixWarnings,
  setDefaults: (object) => {
    for (const webhook of object.webhooks ?? []) {
      setWebhookDefaults(webhook);
      webhook.reinvocationPolicy ??= 'Never';
    }
  },
  validate: (root, object, old) => {
    validateWebhooks(root.child('webhooks'), object.webhooks, old?.webhooks);
    root.child('webhooks').each(object.webhooks, ({ reinvocationPolicy }, place) => {
      if (reinvocationPolicy !== undefined)
        place.child('reinvocationPolicy').oneOf(reinvocationPolicy, ['IfNeeded', 'Never']);
    });
  },
  validatesInSlices: true,
};

export const validatingWebhookConfigurations: BuiltinKind<ValidatingWebhookConfiguration> = {
  id: 'admissionregistration.k8s.io/v1/validatingwebhookconfigurations',
  countsEmpties: true,
  strategy: { updateMetadata: 'whole', finalizerNames: 'Qualified' },
  warnings: staticSuffixWarnings,
  setDefaults: (object) => {
    for (const webhook of object.webhooks ?? []) setWebhookDefaults(webhook);
  },
  validate: (root, object, old) => validateWebhooks(root.child('webhooks'), object.webhooks, old?.webhooks),
  validatesInSlices: true,
};

type Webhook = Omit<MutatingWebhook, 'reinvocationPolicy'>;

function setWebhookDefaults(webhook: Webhook): void {
  webhook.failurePolicy ??= 'Fail';
  webhook.matchPolicy ??= 'Equivalent';
  webhook.namespaceSelector ??= {};
  webhook.objectSelector ??= {};
  webhook.timeoutSeconds ??= 10;
  if (webhook.clientConfig.service !== undefined) webhook.clientConfig.service.port ??= 443;
  setRuleDefaults(webhook.rules);
}

type Webhooks = readonly DeepReadonly<Webhook>[];

function validateWebhooks(at: Field, webhooks: Webhooks = [], old?: Webhooks): void {
  const names = new Set<string>();
  const stored = new Set(
    (old ?? []).flatMap(({ matchConditions = [] }) => matchConditions.map(({ expression }) => expression)),
  );
  const keepsConditions = old !== undefined && conditionsOf(old) === conditionsOf(webhooks);
  at.each(webhooks, (webhook, place) => {
    validateWebhook(place, webhook);
    if (!keepsConditions) {
      const rules = { stored, hasParams: false };
      validateMatchConditions(place.child('matchConditions'), webhook.matchConditions ?? [], rules);
    }
    if (webhook.name !== '' && names.has(webhook.name)) place.child('name').duplicate(webhook.name);
    names.add(webhook.name);
  });
}

/**
 * Unchanged conditions are not checked again, because an older server may have accepted some that this one would
 * refuse.
 */
function conditionsOf(webhooks: Webhooks): string {
  return JSON.stringify(webhooks.map(({ matchConditions = [] }) => matchConditions));
}

function validateWebhook(at: Field, webhook: DeepReadonly<Webhook>): void {
  validateFullName(at.child('name'), webhook.name);
  at.child('rules').each(webhook.rules, (rule, place) => validateOperationsRule(place, rule));
  if (webhook.failurePolicy !== undefined) at.child('failurePolicy').oneOf(webhook.failurePolicy, ['Fail', 'Ignore']);
  if (webhook.matchPolicy !== undefined) at.child('matchPolicy').oneOf(webhook.matchPolicy, ['Equivalent', 'Exact']);
  if (webhook.sideEffects == null) at.child('sideEffects').required('must specify one of None, NoneOnDryRun');
  else at.child('sideEffects').oneOf(webhook.sideEffects, ['None', 'NoneOnDryRun']);
  const seconds = webhook.timeoutSeconds;
  if (seconds !== undefined && (seconds < 1 || seconds > 30)) {
    at.child('timeoutSeconds').invalid(seconds, 'the timeout value must be between 1 and 30 seconds');
  }
  validateLabelSelector(at.child('namespaceSelector'), webhook.namespaceSelector);
  validateLabelSelector(at.child('objectSelector'), webhook.objectSelector);
  validateClientConfig(at.child('clientConfig'), webhook.clientConfig);
  validateReviewVersions(at.child('admissionReviewVersions'), webhook.admissionReviewVersions ?? []);
}

/** Source: IsFullyQualifiedName. */
function validateFullName(at: Field, name: string): void {
  if (name === '') return at.required();
  const errors = dnsSubdomainErrors(name);
  if (errors.length > 0) return at.invalid(name, errors.join(','));
  if (name.split('.').length < 3) at.invalid(name, 'should be a domain with at least three segments separated by dots');
}

const reviewVersions = ['v1', 'v1beta1'];

function validateReviewVersions(at: Field, versions: readonly string[]): void {
  const list = reviewVersions.join(', ');
  if (versions.length === 0) return at.required(`must specify one of ${list}`);
  const isRepeated = repetitions<string>();
  at.each(versions, (version, place) => {
    if (isRepeated(version)) place.invalid(version, 'duplicate version');
    else place.invalidAll(version, dns1035LabelErrors(version));
  });
  if (!versions.some((version) => reviewVersions.includes(version)))
    at.invalid(versions, `must include at least one of ${list}`);
}
