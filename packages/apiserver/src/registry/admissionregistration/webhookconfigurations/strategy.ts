// Mutating and validating webhook configurations. Source: pkg/apis/admissionregistration/v1/defaults.go, validation validateWebhook.
import { type DeepReadonly, dnsSubdomainErrors } from '@kapstan/api';
import type {
  MutatingWebhook,
  MutatingWebhookConfiguration,
  ValidatingWebhookConfiguration,
  WebhookClientConfig,
} from '@kapstan/kinds/admissionregistration.k8s.io/v1';
import type { BuiltinKind } from '../../builtin-kind.ts';
import type { Field } from '../../validation/field.ts';
import { validateLabelSelector } from '../../validation/label-rules.ts';
import { setRuleDefaults, validateRule } from '../rule-defaults.ts';

export const mutatingWebhookConfigurations: BuiltinKind<MutatingWebhookConfiguration> = {
  id: 'admissionregistration.k8s.io/v1/mutatingwebhookconfigurations',
  strategy: { updateMetadata: 'whole', finalizerNames: 'Qualified' },
  setDefaults: (object) => {
    for (const webhook of object.webhooks ?? []) {
      setWebhookDefaults(webhook);
      webhook.reinvocationPolicy ??= 'Never';
    }
  },
  validate: (root, object) => {
    validateWebhooks(root.child('webhooks'), object.webhooks);
    root.child('webhooks').each(object.webhooks, ({ reinvocationPolicy }, place) => {
      if (reinvocationPolicy !== undefined)
        place.child('reinvocationPolicy').oneOf(reinvocationPolicy, ['IfNeeded', 'Never']);
    });
  },
};

export const validatingWebhookConfigurations: BuiltinKind<ValidatingWebhookConfiguration> = {
  id: 'admissionregistration.k8s.io/v1/validatingwebhookconfigurations',
  strategy: { updateMetadata: 'whole', finalizerNames: 'Qualified' },
  setDefaults: (object) => {
    for (const webhook of object.webhooks ?? []) setWebhookDefaults(webhook);
  },
  validate: (root, object) => validateWebhooks(root.child('webhooks'), object.webhooks),
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

function validateWebhooks(at: Field, webhooks: readonly DeepReadonly<Webhook>[] | undefined): void {
  const names = new Set<string>();
  at.each(webhooks, (webhook, place) => {
    validateWebhook(place, webhook);
    if (names.has(webhook.name)) place.child('name').duplicate(webhook.name);
    names.add(webhook.name);
  });
}

function validateWebhook(at: Field, webhook: DeepReadonly<Webhook>): void {
  validateFullName(at.child('name'), webhook.name);
  at.child('rules').each(webhook.rules, (rule, place) => validateRule(place, rule));
  if (webhook.failurePolicy !== undefined) at.child('failurePolicy').oneOf(webhook.failurePolicy, ['Fail', 'Ignore']);
  if (webhook.matchPolicy !== undefined) at.child('matchPolicy').oneOf(webhook.matchPolicy, ['Equivalent', 'Exact']);
  if (!webhook.sideEffects) at.child('sideEffects').required('must specify one of None, NoneOnDryRun');
  else at.child('sideEffects').oneOf(webhook.sideEffects, ['None', 'NoneOnDryRun']);
  const seconds = webhook.timeoutSeconds;
  if (seconds !== undefined && (seconds < 1 || seconds > 30)) {
    at.child('timeoutSeconds').invalid(seconds, 'the timeout value must be between 1 and 30 seconds');
  }
  validateLabelSelector(at.child('namespaceSelector'), webhook.namespaceSelector);
  validateLabelSelector(at.child('objectSelector'), webhook.objectSelector);
  validateClient(at.child('clientConfig'), webhook.clientConfig);
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
  if (versions.length === 0) at.required(`must specify one of ${list}`);
  else if (!versions.some((version) => reviewVersions.includes(version)))
    at.invalid(versions, `must include at least one of ${list}`);
}

function validateClient(at: Field, config: DeepReadonly<WebhookClientConfig>): void {
  const { url, service } = config;
  if ((url === undefined) === (service === undefined)) return at.required('exactly one of url or service is required');
  if (url !== undefined) return validateUrl(at.child('url'), url);
  at.child('service', 'name').present(service?.name);
  at.child('service', 'namespace').present(service?.namespace);
}

const form = 'desired format: https://host[/path]';

/** Source: webhook.ValidateWebhookURL. */
function validateUrl(at: Field, text: string): void {
  if (!URL.canParse(text)) return at.required(`url must be a valid URL: ${form}`);
  const url = new URL(text);
  const scheme = url.protocol.slice(0, -1);
  if (scheme !== 'https') at.invalid(scheme, `'https' is the only allowed URL scheme; ${form}`);
  if (url.host === '') at.invalid(url.host, `host must be specified; ${form}`);
  if (url.username !== '') at.invalid(url.username, 'user information is not permitted in the URL');
  if (url.hash !== '') at.invalid(url.hash.slice(1), 'fragments are not permitted in the URL');
  if (url.search !== '') at.invalid(url.search.slice(1), 'query parameters are not permitted in the URL');
}
