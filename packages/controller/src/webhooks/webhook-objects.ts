// The objects through which API servers learn of a program's webhooks: two configurations, and the conversion in
// definitions. Written and kept by configuration-keeper.ts.
import { isDeepStrictEqual } from 'node:util';
import type { DefinedResource, KubernetesObject, Resource } from '@kapstan/api';
import type { AdmissionHook, ProgramHooks } from '@kapstan/api/internal';
import {
  type MutatingWebhook,
  MutatingWebhookConfiguration,
  ValidatingWebhookConfiguration,
  type WebhookClientConfig,
} from '@kapstan/kinds/admissionregistration.k8s.io/v1';
import { CustomResourceDefinition } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import type { WebhookService } from './webhook-options.ts';
import { conversionPath, pathOf } from './webhook-paths.ts';

/** The address at which API servers reach the program. */
export interface WebhookAddress {
  readonly service: WebhookService | undefined;
  /** URL without a slash at the end. Used without a service. */
  readonly url: string;
}

/** An object that is kept, in the form for server-side apply. */
export interface KeptObject {
  readonly resource: Resource;
  readonly name: string;
  /**
   * True = the whole object belongs to the program, which may create it; false = only a part of somebody else's object.
   */
  readonly isOwn: boolean;
  /** Returns the fields of the program. `bundle` is undefined when something else writes it. */
  fields(bundle: string | undefined): KubernetesObject;
  /** Returns the client configurations of the program in an object. */
  clientConfigs(object: KubernetesObject): readonly FoundConfig[];
}

interface FoundConfig {
  /** JSON pointer to the parent of the client configuration, such as "/webhooks/0". */
  readonly place: string;
  /** Name of the webhook; a patch tests it, because the place may have changed. */
  readonly name: string | undefined;
  readonly config: WebhookClientConfig;
}

/** Returns the objects to maintain for these hooks. */
export function keptObjects(hooks: ProgramHooks, name: string, address: WebhookAddress): readonly KeptObject[] {
  const of = (type: AdmissionHook['type']): readonly AdmissionHook[] =>
    hooks.admission.filter((hook) => hook.type === type);
  return [
    ...configuration(MutatingWebhookConfiguration, of('mutating'), { name, address }),
    ...configuration(ValidatingWebhookConfiguration, of('validating'), { name, address }),
    ...hooks.conversions.map(({ definition }) => conversion(definition, address)),
  ];
}

function configuration(
  resource: Resource,
  hooks: readonly AdmissionHook[],
  { name, address }: { readonly name: string; readonly address: WebhookAddress },
): readonly KeptObject[] {
  if (hooks.length === 0) return [];
  const own = new Set(hooks.map((hook) => hook.name));
  return [
    {
      resource,
      name,
      isOwn: true,
      fields: (bundle) => ({
        metadata: { name },
        webhooks: hooks.map((hook) => webhookOf(hook, clientConfig(address, pathOf(hook), bundle))),
      }),
      clientConfigs: ({ webhooks = [] }: KubernetesObject & { readonly webhooks?: readonly MutatingWebhook[] }) =>
        webhooks.flatMap(({ name: each, clientConfig: config }, index) =>
          own.has(each) ? [{ place: `/webhooks/${index}`, name: each, config }] : [],
        ),
    },
  ];
}

function conversion(definition: string, address: WebhookAddress): KeptObject {
  return {
    resource: CustomResourceDefinition,
    name: definition,
    isOwn: false,
    fields: (bundle) => ({ metadata: { name: definition }, spec: { conversion: conversionOf(address, bundle) } }),
    clientConfigs: (object) => {
      const config = (object as CustomResourceDefinition).spec.conversion?.webhook?.clientConfig;
      return config === undefined ? [] : [{ place: '/spec/conversion/webhook', name: undefined, config }];
    },
  };
}

/** Returns the conversion of a definition. */
export function conversionOf(address: WebhookAddress, bundle: string | undefined): object {
  const webhook = { clientConfig: clientConfig(address, conversionPath, bundle), conversionReviewVersions: ['v1'] };
  return { strategy: 'Webhook', webhook };
}

/** Fields that the author did not set are left to the server's defaults, and to other writers. */
function webhookOf({ name, resource, rule, type }: AdmissionHook, config: WebhookClientConfig): object {
  const { operations, subresource, ...options } = rule;
  const { reinvocationPolicy, ...common } = options;
  const resources = [subresource === '' ? resource.plural : `${resource.plural}/${subresource}`];
  return {
    name,
    clientConfig: config,
    rules: [
      {
        operations,
        apiGroups: [resource.group],
        apiVersions: [resource.version],
        resources: subresource === '*' ? [resource.plural, ...resources] : resources,
        scope: '*',
      },
    ],
    admissionReviewVersions: ['v1', 'v1beta1'],
    ...given(type === 'mutating' ? { ...common, reinvocationPolicy } : common),
  };
}

function clientConfig({ service, url }: WebhookAddress, path: string, bundle: string | undefined): WebhookClientConfig {
  const caBundle = given({ caBundle: bundle && encodedBundle(bundle) });
  if (service === undefined) return { url: `${url}${path}`, ...caBundle };
  const { name, namespace, port = 443 } = service;
  return { service: { name, namespace, path, port }, ...caBundle };
}

export function encodedBundle(bundle: string): string {
  return Buffer.from(bundle).toString('base64');
}

export function decodedBundle(caBundle: string): string {
  return Buffer.from(caBundle, 'base64').toString('utf8');
}

function given(options: object): object {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

/**
 * Returns the definition with the versions that others describe, all served and the resource's own stored, and with the
 * conversion. Throws TypeError for a version that is described twice and differently.
 */
export function definitionWithVersions(
  resource: DefinedResource,
  others: readonly DefinedResource[],
  conversion: object | undefined,
): DefinedResource {
  const { spec, metadata } = resource.definition as CustomResourceDefinition;
  const versions = [...spec.versions];
  for (const { definition } of others) {
    const [version] = (definition as CustomResourceDefinition).spec.versions;
    if (version === undefined) continue;
    const other = { ...version, storage: false };
    const present = versions.find(({ name }) => name === version.name);
    if (present === undefined) versions.push(other);
    else if (!isDeepStrictEqual(present, other))
      throw new TypeError(
        `the version ${version.name} of ${metadata?.name} is described twice, in its definition and by a resource of converts()`,
      );
  }
  // The conversion is included even without other resources, because several versions without it would be read as if
  // they were one.
  const next = { ...spec, versions, ...given({ conversion }) };
  return { ...resource, definition: { ...resource.definition, spec: next } as DefinedResource['definition'] };
}
