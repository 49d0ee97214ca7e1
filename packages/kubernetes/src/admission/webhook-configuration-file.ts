// The configuration of the plug-ins that call webhooks: a kubeconfig file with credentials for the webhooks' servers, which is not
// supported. Source: apiserver pkg/admission/plugin/webhook/config.
import { formatFieldError, invalidField } from '@kapstan/api/errors';
import { decodeConfiguration, fileSchema, textSchema } from '@kapstan/apiserver/internal';

const kinds = new Map([
  ['apiserver.config.k8s.io/v1', 'WebhookAdmissionConfiguration'],
  ['apiserver.config.k8s.io/v1alpha1', 'WebhookAdmission'],
]);
const schema = fileSchema('v1.WebhookAdmission', { kubeConfigFile: textSchema, staticManifestsDir: textSchema });

/** Throws an Error for faults and for unsupported settings. */
export function requireNoWebhookSettings(text: string | undefined): void {
  if (text === undefined) return;
  const { kubeConfigFile = '', staticManifestsDir = '' } = decodeConfiguration(text, { kinds, schema });
  if (kubeConfigFile !== '' && !String(kubeConfigFile).startsWith('/'))
    throw new Error(formatFieldError(invalidField('kubeConfigFile', kubeConfigFile, 'must be an absolute file path')));
  const unsupported =
    kubeConfigFile === '' ? (staticManifestsDir === '' ? '' : 'staticManifestsDir') : 'kubeConfigFile';
  if (unsupported !== '') throw new Error(`${unsupported}: Forbidden: is not supported by this server`);
}
