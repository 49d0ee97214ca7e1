// ServiceAccount gives each pod an existing account, mounts the account's token, and, for accounts with the annotation
// for this, keeps pods from secrets that the account does not list. Source: plugin/pkg/admission/serviceaccount.

import { type Clock, type DeepReadonly, delay, type KubernetesObject, type UnstructuredObject } from '@kapstan/api';
import { eachInSlices, type GroupVersionResource, type SlicedWork } from '@kapstan/api/internal';
import type { AdmissionAttributes, AdmissionPlugin, ObjectReader } from '@kapstan/apiserver';
import { generateName, isAbout, refuse } from '@kapstan/apiserver/internal';
import type { ServiceAccount as AccountObject, PodSpec as FullPodSpec, Pod } from '@kapstan/kinds/core/v1';
import { runInTurns } from '@kapstan/storage';
import { type Container, type PodSpec, podSpecOf } from './pod-fields.ts';
import { containerFault, hasSecrets, hasTokenVolume, secretFault } from './secret-references.ts';

const serviceAccounts: GroupVersionResource = { group: '', version: 'v1', resource: 'serviceaccounts' };
const defaultAccount = 'default';
const mirrorAnnotation = 'kubernetes.io/config.mirror';
const mountPath = '/var/run/secrets/kubernetes.io/serviceaccount';
const volumePrefix = 'kube-api-access-';
/** One hour and seven seconds, which distinguishes these tokens from requested ones. */
const tokenSeconds = 3607;

/** Attempts to find the default account of a new namespace, which a controller makes. */
const defaultAttempts = 10;
const retryMs = 100;

const enforceAnnotation = 'kubernetes.io/enforce-mountable-secrets';
/** Source: strconv.ParseBool. */
const trueTexts: ReadonlySet<string> = new Set(['1', 't', 'T', 'true', 'TRUE', 'True']);

type Account = AccountObject & UnstructuredObject;
type Spec = DeepReadonly<FullPodSpec>;

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
    if (isMirror(object)) return checkMirror(attributes, object);
    const spec = podSpecOf(object);
    const name = spec.serviceAccountName || defaultAccount;
    spec.serviceAccountName = name;
    spec.serviceAccount = name;
    const account = await this.#find(attributes, name);
    if (spec.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true)
      await runInTurns(this.#mountToken(spec), attributes.context.signal);
    if ((spec.imagePullSecrets ?? []).length === 0 && (account.imagePullSecrets ?? []).length > 0) {
      spec.imagePullSecrets = (account.imagePullSecrets ?? []).map(({ name: secret = '' }) => ({ name: secret }));
    }
    checkReferences(attributes, specOf(object), account);
  }

  validate(attributes: AdmissionAttributes): Promise<void> | void {
    const { object, operation, resource, subresource } = attributes;
    if (resource.group !== '' || resource.resource !== 'pods' || object === undefined) return;
    if (operation === 'UPDATE' && subresource === 'ephemeralcontainers') return this.#checkSecrets(attributes, object);
    if (operation !== 'CREATE' || subresource !== '') return;
    return isMirror(object) ? checkMirror(attributes, object) : this.#checkSecrets(attributes, object);
  }

  async #checkSecrets(attributes: AdmissionAttributes, object: DeepReadonly<KubernetesObject>): Promise<void> {
    const spec = specOf(object);
    const name = spec.serviceAccountName ?? '';
    if (name === '') {
      const pod = `${attributes.namespace}/${object.metadata?.name ?? ''}`;
      throw refuse(attributes, `no service account specified for pod ${pod}`);
    }
    checkReferences(attributes, spec, await this.#find(attributes, name));
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
  *#mountToken(spec: PodSpec): SlicedWork<void> {
    const existing = existingVolume(spec);
    let name = existing;
    const mountIn = (container: Container): void => {
      if ((container.volumeMounts ?? []).some((mount) => mount.mountPath === mountPath)) return;
      name ??= generateName(volumePrefix, this.#ports.random);
      mount(container, name);
    };
    yield* eachInSlices(spec.initContainers ?? [], mountIn);
    yield* eachInSlices(spec.containers ?? [], mountIn);
    if (name !== undefined && existing === undefined) spec.volumes = [...(spec.volumes ?? []), tokenVolume(name)];
  }
}

/** Refuses secrets that the account does not list, if it has the annotation for that. */
function checkReferences(attributes: AdmissionAttributes, spec: Spec, account: DeepReadonly<Account>): void {
  if (!trueTexts.has(account.metadata?.annotations?.[enforceAnnotation] ?? '')) return;
  const fault =
    attributes.operation === 'UPDATE'
      ? containerFault('ephemeral container', spec.ephemeralContainers, account)
      : secretFault(spec, account);
  if (fault !== undefined) throw refuse(attributes, fault);
}

function isMirror({ metadata }: DeepReadonly<KubernetesObject>): boolean {
  return metadata?.annotations?.[mirrorAnnotation] !== undefined;
}

/** A mirror of a static pod has no rights in the cluster. */
function checkMirror(attributes: AdmissionAttributes, object: DeepReadonly<KubernetesObject>): void {
  const spec = specOf(object);
  if ((spec.serviceAccountName ?? '') !== '')
    throw refuse(attributes, 'a mirror pod may not reference service accounts');
  if (hasSecrets(spec)) throw refuse(attributes, 'a mirror pod may not reference secrets');
  if (hasTokenVolume(spec)) throw refuse(attributes, 'a mirror pod may not use ServiceAccountToken volume projections');
}

function specOf(object: DeepReadonly<KubernetesObject>): Spec {
  return (object as DeepReadonly<Pod>).spec ?? { containers: [] };
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
