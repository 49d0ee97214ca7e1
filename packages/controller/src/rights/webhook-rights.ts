// rightsOfWebhooks: the rights for objects that a program reads and writes because it serves webhooks over HTTPS. Each line follows from a
// request in packages/controller/src/webhooks. Called by rights.ts.
import type { Resource } from '@kapstan/api';
import {
  MutatingWebhookConfiguration,
  ValidatingWebhookConfiguration,
} from '@kapstan/kinds/admissionregistration.k8s.io/v1';
import { CustomResourceDefinition } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { Secret } from '@kapstan/kinds/core/v1';
import type { Controller } from '../builder/controller-builder.ts';
import type { ManagerOptions } from '../manager/manager-options.ts';
import type { SecretName } from '../webhooks/certificate-store.ts';
import { certificatesSecret, configurationsName } from '../webhooks/webhook-names.ts';
import type { WebhookOptions } from '../webhooks/webhook-options.ts';
import type { Right } from './right.ts';

const read = ['get', 'list', 'watch'];

/**
 * Returns the rights to maintain the certificates, the configurations and the conversions, and to remove those that are no longer declared.
 */
export function rightsOfWebhooks(
  controllers: readonly Controller[],
  webhooks: WebhookOptions,
  leaderElection: ManagerOptions['leaderElection'],
): readonly Right[] {
  const secret = hasHooks(controllers) ? certificatesSecret(webhooks) : undefined;
  const certificates = secret === undefined ? [] : rightsToShare(secret);
  if (webhooks.configurations === false) return certificates;
  const name = webhooks.name ?? configurationsName(controllers, leaderElection);
  const types = new Set(controllers.flatMap(({ hooks }) => hooks.admission.map(({ type }) => type)));
  return [
    ...certificates,
    configuration(MutatingWebhookConfiguration, name, types.has('mutating')),
    configuration(ValidatingWebhookConfiguration, name, types.has('validating')),
    ...controllers.flatMap(conversion),
  ];
}

function hasHooks(controllers: readonly Pick<Controller, 'hooks'>[]): boolean {
  return controllers.some(({ hooks }) => hooks.admission.length + hooks.conversions.size > 0);
}

function rightsToShare({ name, namespace }: SecretName): readonly Right[] {
  const { group, plural: resource } = Secret;
  const why = 'the certificates of webhooks are shared';
  return [
    // A create has no name that could be checked.
    { group, resource, verbs: ['create'], namespace, why },
    { group, resource, verbs: [...read, 'update'], names: [name], namespace, why },
  ];
}

/** A list and a watch of one name are authorized with the name, and so is an apply that creates. */
function configuration({ group, plural, kind }: Resource, name: string, isDeclared: boolean): Right {
  const verbs = isDeclared ? [...read, 'create', 'patch'] : ['get', 'delete'];
  const why = isDeclared ? 'the webhooks are registered with the API servers' : `an earlier ${kind} is deleted`;
  return { group, resource: plural, verbs, names: [name], why };
}

/** Kinds of groups without a dot are Kubernetes' own and have no definition. */
function conversion({ resource, hooks }: Controller): readonly Right[] {
  if (!resource.group.includes('.')) return [];
  const isDeclared = hooks.conversions.size > 0;
  const { group, plural } = CustomResourceDefinition;
  const why = isDeclared
    ? `the conversion is registered with the API servers for ${resource.kind}`
    : `an earlier conversion of ${resource.kind} is reset`;
  const verbs = isDeclared ? [...read, 'patch'] : ['get', 'patch'];
  return [{ group, resource: plural, verbs, names: [`${resource.plural}.${resource.group}`], why }];
}
