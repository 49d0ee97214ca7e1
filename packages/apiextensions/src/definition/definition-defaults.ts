// Defaults of a CustomResourceDefinition. Source: apiextensions v1 SetDefaults_*.
import type {
  CustomResourceConversion,
  CustomResourceDefinition,
  CustomResourceDefinitionSpec,
  WebhookConversion,
} from '@kapstan/kinds/apiextensions.k8s.io/v1';

/** Sets defaults in place. The definition is not validated yet, so any member may be missing. */
export function setDefinitionDefaults(definition: CustomResourceDefinition): void {
  const spec: Partial<CustomResourceDefinitionSpec> = definition.spec;
  const { names } = spec;
  if (names !== undefined) {
    if (!names.singular) names.singular = (names.kind ?? '').toLowerCase();
    if (!names.listKind && names.kind) names.listKind = `${names.kind}List`;
  }
  spec.conversion ??= { strategy: 'None' };
  dropEmptyWebhook(spec.conversion);
  const service = spec.conversion.webhook?.clientConfig?.service;
  if (service !== undefined && service !== null) service.port ??= 443;
  addStoredVersion(definition, 'whenNone');
}

/**
 * Drops a webhook without members: the internal form has the members of a webhook but no webhook, so an empty one gets
 * lost there.
 */
function dropEmptyWebhook(conversion: CustomResourceConversion): void {
  const webhook: Partial<WebhookConversion> | null | undefined = conversion.webhook;
  if (webhook?.clientConfig || (webhook?.conversionReviewVersions ?? []).length > 0) return;
  delete conversion.webhook;
}

/**
 * Adds the storage version to the versions in which objects may be stored. Source: strategy.PrepareForCreate,
 * PrepareForUpdate.
 */
export function addStoredVersion(definition: CustomResourceDefinition, when: 'always' | 'whenNone'): void {
  const storage = (definition.spec.versions ?? []).find((version) => version.storage)?.name;
  const present = definition.status?.storedVersions ?? [];
  if (storage === undefined || present.includes(storage)) return;
  if (when === 'whenNone' && present.length > 0) return;
  definition.status = { ...definition.status, storedVersions: [...present, storage] };
}
