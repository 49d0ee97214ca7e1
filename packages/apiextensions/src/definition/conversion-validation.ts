// Rules for a definition's conversion, which is None or a webhook. Source: validateCustomResourceConversion.
import type { DeepReadonly } from '@kapstan/api';
import type { Field } from '@kapstan/apiserver/internal';
import { caBundleFault, dns1035LabelErrors, validateClientConfig } from '@kapstan/apiserver/internal';
import type { CustomResourceConversion, CustomResourceDefinition } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { knownReviewVersions } from '../conversion/conversion-review.ts';
import { isConditionTrue } from './definition-conditions.ts';

type Conversion = DeepReadonly<CustomResourceConversion>;
type Definition = DeepReadonly<CustomResourceDefinition>;

/** `old`: the definition before an update. */
export function validateConversion(at: Field, conversion: Conversion | undefined, old: Definition | undefined): void {
  if (conversion === undefined) return;
  const strategy = at.child('strategy');
  if (!conversion.strategy) strategy.required();
  else strategy.oneOf(conversion.strategy, ['None', 'Webhook']);
  if (conversion.strategy === 'Webhook') validateWebhook(at, conversion, old);
  else refuseWebhook(at, conversion);
}

/** Returns true when the certificates of a definition's webhook can be read, or when there are none. */
export function hasValidCaBundle({ spec }: Definition): boolean {
  return caBundleFault(caBundleOf(spec.conversion)) === undefined;
}

function validateWebhook(at: Field, conversion: Conversion, old: Definition | undefined): void {
  const { clientConfig, conversionReviewVersions } = conversion.webhook ?? {};
  const config = at.child('webhookClientConfig');
  if (!clientConfig) config.required('required when strategy is set to Webhook');
  else {
    const { url, service } = clientConfig;
    validateClientConfig(config, { url: url ?? undefined, service: service ?? undefined });
    const fault = mayKeepInvalidBundle(old) ? undefined : caBundleFault(caBundleOf(conversion));
    if (fault !== undefined) config.child('caBundle').invalid(clientConfig.caBundle, fault);
  }
  validateReviewVersions(at.child('conversionReviewVersions'), conversionReviewVersions ?? [], old);
}

/**
 * A definition that is not served yet may have any bundle; its conditions report the fault. Source:
 * allowInvalidCABundle.
 */
function mayKeepInvalidBundle(old: Definition | undefined): boolean {
  if (old === undefined || !isConditionTrue(old, 'Established')) return true;
  return !hasValidCaBundle(old);
}

function caBundleOf(conversion: Conversion | undefined): string {
  return Buffer.from(conversion?.webhook?.clientConfig?.caBundle ?? '', 'base64').toString('utf8');
}

function validateReviewVersions(at: Field, versions: readonly string[], old: Definition | undefined): void {
  if (versions.length === 0) return at.required();
  const seen = new Set<string>();
  at.each(versions, (version, place) => {
    if (seen.has(version)) return place.invalid(version, 'duplicate version');
    seen.add(version);
    place.invalidAll(version, dns1035LabelErrors(version));
  });
  if (!needsKnownVersion(old) || knownReviewVersions.some((version) => seen.has(version))) return;
  at.invalid(versions, `must include at least one of ${knownReviewVersions.join(', ')}`);
}

/**
 * Returns false when the old definition has versions but none of them is known, because then the new one needs no known
 * version either. Source: requireRecognizedConversionReviewVersion.
 */
function needsKnownVersion(old: Definition | undefined): boolean {
  const before = old?.spec.conversion?.webhook?.conversionReviewVersions ?? [];
  return before.length === 0 || before.some((version) => knownReviewVersions.includes(version));
}

function refuseWebhook(at: Field, { webhook }: Conversion): void {
  const text = 'should not be set when strategy is not set to Webhook';
  if (webhook?.clientConfig) at.child('webhookClientConfig').forbidden(text);
  if ((webhook?.conversionReviewVersions ?? []).length > 0) at.child('conversionReviewVersions').forbidden(text);
}
