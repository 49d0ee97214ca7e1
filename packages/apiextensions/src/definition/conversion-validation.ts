// Rules for a definition's conversion, which can only be None. Webhooks are refused by name, after their own errors.
// Source: validateCustomResourceConversion.
import type { DeepReadonly } from '@kapstan/api';
import type { Field } from '@kapstan/apiserver/internal';
import type { CustomResourceConversion } from '@kapstan/kinds/apiextensions.k8s.io/v1';

export function validateConversion(at: Field, conversion: DeepReadonly<CustomResourceConversion> | undefined): void {
  if (conversion === undefined) return;
  const strategy = at.child('strategy');
  if (!conversion.strategy) strategy.required();
  else strategy.oneOf(conversion.strategy, ['None', 'Webhook']);
  if (conversion.strategy === 'Webhook') validateWebhook(at, conversion);
  else refuseWebhook(at, conversion);
}

type Conversion = DeepReadonly<CustomResourceConversion>;

function validateWebhook(at: Field, { webhook }: Conversion): void {
  const before = at.errorCount;
  const { clientConfig, conversionReviewVersions = [] } = webhook ?? {};
  const config = at.child('webhookClientConfig');
  if (!clientConfig) config.required('required when strategy is set to Webhook');
  else if ((clientConfig.url === undefined) === (clientConfig.service === undefined)) {
    config.required('exactly one of url or service is required');
  }
  if ((conversionReviewVersions ?? []).length === 0) at.child('conversionReviewVersions').required();
  if (at.errorCount === before)
    at.child('strategy').forbidden('conversion by webhooks is not supported by this server');
}

function refuseWebhook(at: Field, { webhook }: Conversion): void {
  const text = 'should not be set when strategy is not set to Webhook';
  if (webhook?.clientConfig) at.child('webhookClientConfig').forbidden(text);
  if ((webhook?.conversionReviewVersions ?? []).length > 0) at.child('conversionReviewVersions').forbidden(text);
}
