// Restricts the service account tokens that a node may request to those of pods that run on it, for audiences that the pods name. Used by
// node-restriction.ts. Source: plugin/pkg/admission/noderestriction admitServiceAccount.
import type { DeepReadonly } from '@kapstan/api';
import { aggregateTexts, notFound } from '@kapstan/api/errors';
import { type GroupVersionResource, goQuote } from '@kapstan/api/internal';
import type { AdmissionAttributes, Authorizer, ObjectReader } from '@kapstan/apiserver';
import { refuse } from '@kapstan/apiserver/internal';
import type { TokenRequest } from '@kapstan/kinds/authentication.k8s.io/v1';
import type { PersistentVolume, PersistentVolumeClaim, Pod, Volume } from '@kapstan/kinds/core/v1';
import type { CSIDriver } from '@kapstan/kinds/storage.k8s.io/v1';
import { type AskingNode, podNamed } from './node-pods.ts';

const claims: GroupVersionResource = { group: '', version: 'v1', resource: 'persistentvolumeclaims' };
const volumes: GroupVersionResource = { group: '', version: 'v1', resource: 'persistentvolumes' };
const drivers: GroupVersionResource = { group: 'storage.k8s.io', version: 'v1', resource: 'csidrivers' };

/** Drivers that replace volume types of Kubernetes. Source: csi-translation-lib plugins. */
const migrated: readonly (readonly [keyof Volume & keyof NonNullable<PersistentVolume['spec']>, string])[] = [
  ['gcePersistentDisk', 'pd.csi.storage.gke.io'],
  ['awsElasticBlockStore', 'ebs.csi.aws.com'],
  ['cinder', 'cinder.csi.openstack.org'],
  ['azureDisk', 'disk.csi.azure.com'],
  ['azureFile', 'file.csi.azure.com'],
  ['vsphereVolume', 'csi.vsphere.vmware.com'],
  ['portworxVolume', 'pxd.portworx.com'],
];

export async function admitToken(
  attributes: AdmissionAttributes,
  node: AskingNode,
  authorizer: Authorizer,
): Promise<void> {
  if (attributes.operation !== 'CREATE' || attributes.subresource !== 'token') return;
  const { spec } = attributes.object as DeepReadonly<TokenRequest>;
  const bound = spec?.boundObjectRef;
  if (bound?.apiVersion !== 'v1' || bound.kind !== 'Pod' || (bound.name ?? '') === '')
    throw refuse(attributes, 'node requested token not bound to a pod');
  if ((bound.uid ?? '') === '') throw refuse(attributes, 'node requested token with a pod binding without a uid');
  const pod = await podNamed(node.reader, attributes.namespace, bound.name ?? '');
  if (pod.metadata?.uid !== bound.uid) {
    const what = `the UID in the bound object reference (${bound.uid}) does not match the UID in record`;
    throw refuse(attributes, `${what}. The object might have been deleted and then recreated`);
  }
  if (pod.spec?.nodeName !== node.name)
    throw refuse(attributes, 'node requested token bound to a pod scheduled on a different node');
  const audiences = spec?.audiences ?? [];
  if (audiences.length > 1) throw refuse(attributes, 'node may only request 0 or 1 audiences');
  await requireAudience(attributes, { pod, audience: audiences[0] ?? '', reader: node.reader, authorizer });
}

interface AskedAudience {
  readonly pod: DeepReadonly<Pod>;
  readonly audience: string;
  readonly reader: ObjectReader;
  readonly authorizer: Authorizer;
}

async function requireAudience(attributes: AdmissionAttributes, asked: AskedAudience): Promise<void> {
  const { audience, authorizer } = asked;
  const errors: string[] = [];
  for (const volume of asked.pod.spec?.volumes ?? []) {
    const found = await namesAudience(volume, asked).catch((error: unknown) => {
      errors.push((error as Error).message);
      return false;
    });
    if (found) return;
  }
  const quoted = goQuote(audience);
  if (errors.length > 0) throw refuse(attributes, `error validating audience ${quoted}: ${aggregateTexts(errors)}`);
  const { user } = attributes.context;
  const { decision, error } = await authorizer.authorize({
    type: 'resource',
    user,
    verb: 'request-serviceaccounts-token-audience',
    namespace: attributes.namespace,
    group: '',
    version: 'v1',
    resource: audience,
    subresource: '',
    name: attributes.name,
  });
  if (decision === 'allow') return;
  if (error !== undefined) {
    const what = `error authorizing ${user.name} to request tokens for this audience: ${error.message}`;
    throw refuse(attributes, `audience ${quoted} not found in pod spec volume, ${what}`);
  }
  const why = `${user.name} is not authorized to request tokens for this audience`;
  throw refuse(attributes, `audience ${quoted} not found in pod spec volume, ${why}`);
}

async function namesAudience(volume: DeepReadonly<Volume>, asked: AskedAudience): Promise<boolean> {
  const { audience, reader } = asked;
  const tokens = (volume.projected?.sources ?? []).flatMap(({ serviceAccountToken }) => serviceAccountToken ?? []);
  if (tokens.some((token) => (token.audience ?? '') === audience)) return true;
  const driver = await driverOf(volume, asked);
  if (driver === undefined) return false;
  const found = (await reader.get(drivers, { namespace: '', name: driver }, 'cached')) as DeepReadonly<CSIDriver>;
  if (found === undefined) throw notFound(drivers, driver);
  return (found.spec?.tokenRequests ?? []).some((request) => (request.audience ?? '') === audience);
}

async function driverOf(volume: DeepReadonly<Volume>, { pod, reader }: AskedAudience): Promise<string | undefined> {
  const { name: podName = '', namespace = '' } = pod.metadata ?? {};
  if (volume.ephemeral?.volumeClaimTemplate !== undefined)
    return driverOfClaim(reader, { namespace, name: `${podName}-${volume.name}` });
  const { persistentVolumeClaim: claim } = volume;
  if (claim !== undefined) return driverOfClaim(reader, { namespace, name: claim.claimName });
  return volume.csi?.driver ?? migrated.find(([source]) => volume[source] !== undefined)?.[1];
}

async function driverOfClaim(
  reader: ObjectReader,
  target: { readonly namespace: string; readonly name: string },
): Promise<string | undefined> {
  const claim = (await reader.get(claims, target, 'cached')) as DeepReadonly<PersistentVolumeClaim> | undefined;
  if (claim === undefined) throw notFound(claims, target.name);
  const name = claim.spec?.volumeName ?? '';
  const volume = (await reader.get(volumes, { namespace: '', name }, 'cached')) as DeepReadonly<PersistentVolume>;
  if (volume === undefined) throw notFound(volumes, name);
  return volume.spec?.csi?.driver ?? migrated.find(([source]) => volume.spec?.[source] !== undefined)?.[1];
}
