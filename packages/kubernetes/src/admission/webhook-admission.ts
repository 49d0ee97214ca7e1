// webhookAdmission makes the parts that the plug-ins MutatingAdmissionWebhook and ValidatingAdmissionWebhook use. It
// connects the control plane with built-in-plugins.ts.
import type { Clock } from '@kapstan/api';
import type { AdmissionFunctions, Authorizer, WebhookPool } from '@kapstan/apiserver';
import { WebhookMatching, WebhookMetrics, type WebhookPorts } from '@kapstan/apiserver/internal';
import { requestExpressions } from '../admissionregistration/request-expressions.ts';
import { type AdmissionMatching, isAdmissionConfiguration } from './admission-matching.ts';
import { WebhookConfigurations } from './webhook-configurations.ts';

export interface WebhookAdmissionOptions extends AdmissionMatching {
  readonly authorizer: Authorizer;
  readonly pool: WebhookPool;
  readonly functions: AdmissionFunctions;
  readonly clock: Clock;
}

/** The plug-ins of admission webhooks, and the data that they follow. */
export interface WebhookAdmission {
  /** The caller must keep this in step with the stored objects; until then requests wait and are refused. */
  readonly configurations: WebhookConfigurations;
  readonly ports: WebhookPorts;
}

/** Returns the plug-ins of admission webhooks. */
export function webhookAdmission(options: WebhookAdmissionOptions): WebhookAdmission {
  const { requests, conditionMetrics, authorizer, pool, functions, clock } = options;
  const configurations = new WebhookConfigurations(pool);
  functions.useExpressions(requestExpressions);
  return {
    configurations,
    ports: {
      mutating: functions.before(configurations.source('MutatingWebhookConfiguration'), 'mutating'),
      validating: functions.before(configurations.source('ValidatingWebhookConfiguration'), 'validating'),
      matching: new WebhookMatching({ requests, authorizer, clock, conditions: conditionMetrics }),
      equivalents: requests.equivalents,
      metrics: new WebhookMetrics(),
      conditions: conditionMetrics,
      clock,
      isExempt: isAdmissionConfiguration,
    },
  };
}
