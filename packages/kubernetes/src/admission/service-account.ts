// ServiceAccount gives each pod an existing account and mounts the account's token. Source:
// plugin/pkg/admission/serviceaccount.

import { type Clock, type DeepReadonly, delay, type UnstructuredObject } from '@kapstan/api';
import type { GroupVersionResource } from '@kapstan/api/internal';
import type { AdmissionAttributes, AdmissionPlugin, ObjectReader } from '@kapstan/apiserver';
import { generateName, isAbout, refuse } from '@kapstan/apiserver/internal';
import { type Container, type PodSpec, podSpecOf } from './pod-fields.ts';

const serviceAccounts: GroupVersionResource = { group: '', version: 'v1', resource: 'serviceaccounts' };
const defaultAccount = 'default';
const mirrorAnnotation = 'kubernetes.io/config.mirror';
const mountPath = '/var/run/secrets/kubernetes.io/serviceaccount';
const volumePrefix = 'kube-api-access-';
/** One hour and seven seconds, which tells these tokens from those that somebody requested. */
const tokenSeconds = 3607;

/** Attempts to find the default account of a new namespace, which a controller makes. */
const defaultAttempts = 10;
const retryMs = 100;

interface Account extends UnstructuredObject {
  automountServiceAccountToken?: boolean;
  imagePullSecrets?: { name?: string }[];
}

export interface ServiceAccountPorts {
  readonly reader: ObjectReader;
  readonly clock: Clock;
  readonly random: () => number;
}

export class ServiceAccount implements AdmissionPlugin {
  readonly name = 'ServiceAccount';
  readonly validatedResources: readonly string[] = ['pods'];
  readonly #ports: ServiceAccountPorts;

  constructor(ports: ServiceAccountPorts) {
    this.#ports = ports;
  }

  async admit(attributes: AdmissionAttributes): Promise<void> {
    const { object, operation } = attributes;
    if (!isAbout(attributes, '', 'pods') || operation !== 'CREATE' || object === undefined) return;
    if (object.metadata?.annotations?.[mirrorAnnotation] !== undefined) return;
    const spec = podSpecOf(object);
    const name = spec.serviceAccountName || defaultAccount;
    spec.serviceAccountName = name;
    spec.serviceAccount = name;
    const account = await this.#find(attributes, name);
    if (spec.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true) this.#mountToken(spec);
    if ((spec.imagePullSecrets ?? []).length === 0 && (account.imagePullSecrets ?? []).length > 0) {
      spec.imagePullSecrets = (account.imagePullSecrets ?? []).map(({ name: secret = '' }) => ({ name: secret }));
    }
  }

  /** A mirror of a static pod has no rights in the cluster. */
  validate(attributes: AdmissionAttributes): void {
    const { object, operation } = attributes;
    if (!isAbout(attributes, '', 'pods') || operation !== 'CREATE' || object === undefined) return;
    if (object.metadata?.annotations?.[mirrorAnnotation] === undefined) return;
    if (podSpecOf(object).serviceAccountName) {
      throw refuse(attributes, 'a mirror pod may not reference service accounts');
    }
  }

  async #find(attributes: AdmissionAttributes, name: string): Promise<DeepReadonly<Account>> {
    const { namespace, context } = attributes;
    const target = { namespace, name };
    const cached = await this.#ports.reader.get(serviceAccounts, target, 'cached');
    if (cached !== undefined) return cached as DeepReadonly<Account>;
    const attempts = name === defaultAccount ? defaultAttempts : 1;
    for (let attempt = 1; attempt <= attempts; attempt++) {
      if (attempt > 1) await delay(this.#ports.clock, retryMs * (1 + this.#ports.random()), context.signal);
      const live = await this.#ports.reader.get(serviceAccounts, target, 'live');
      if (live !== undefined) return live as DeepReadonly<Account>;
    }
    const why = `error looking up service account ${namespace}/${name}: serviceaccount ${JSON.stringify(name)} not found`;
    throw refuse(attributes, why);
  }

  /** Mounts the token in each container that mounts nothing there yet. */
  #mountToken(spec: PodSpec): void {
    const containers = [...(spec.initContainers ?? []), ...(spec.containers ?? [])].filter(
      (container) => !(container.volumeMounts ?? []).some((mount) => mount.mountPath === mountPath),
    );
    if (containers.length === 0) return;
    const name = existingVolume(spec) ?? generateName(volumePrefix, this.#ports.random);
    for (const container of containers) mount(container, name);
    if (existingVolume(spec) === undefined) spec.volumes = [...(spec.volumes ?? []), tokenVolume(name)];
  }
}

/** A pod that was read and is created again has its volume already. */
function existingVolume(spec: PodSpec): string | undefined {
  return spec.volumes?.find((volume) => volume.name?.startsWith(volumePrefix))?.name;
}

function mount(container: Container, name: string): void {
  container.volumeMounts = [...(container.volumeMounts ?? []), { name, readOnly: true, mountPath }];
}

function tokenVolume(name: string): NonNullable<PodSpec['volumes']>[number] {
  const fieldRef = { apiVersion: 'v1', fieldPath: 'metadata.namespace' };
  return {
    name,
    projected: {
      sources: [
        { serviceAccountToken: { expirationSeconds: tokenSeconds, path: 'token' } },
        { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
        { downwardAPI: { items: [{ path: 'namespace', fieldRef }] } },
      ],
      defaultMode: 420,
    },
  };
}
