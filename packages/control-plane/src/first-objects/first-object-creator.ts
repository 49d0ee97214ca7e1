// firstObjectCreator decides how a server creates the objects with which a store begins. Called by control-plane.ts.
import { isNotFound, type ResourceClient } from '@kapstan/api';
import type { AdmissionFunction } from '@kapstan/apiserver';
import { Namespace } from '@kapstan/kinds/core/v1';
import { type ObjectCreator, PreparedObjects, type PreparedObjectsParts } from '@kapstan/kubernetes';
import type { AdmissionOptions } from '../access/admission.ts';

type GivenAdmission = AdmissionOptions | readonly AdmissionFunction[];

/**
 * Returns the prepared objects if the store is new and nothing of this program may change or refuse what is created, else the client.
 */
export async function firstObjectCreator(
  admission: GivenAdmission | undefined,
  { client, catalog }: PreparedObjectsParts,
): Promise<ObjectCreator> {
  if (hasOwnAdmission(admission) || !(await isNew(client))) return client;
  return new PreparedObjects({ client, catalog });
}

/** Plug-ins that are off by default, configurations and functions could change or refuse the objects. */
function hasOwnAdmission(admission: GivenAdmission = {}): boolean {
  if ('length' in admission) return admission.length > 0;
  const { enabled = [], plugins = [], configurations = {}, functions = [] } = admission;
  const count = 'size' in functions ? functions.size : functions.length;
  return enabled.length + plugins.length + Object.keys(configurations).length + count > 0;
}

/** Nobody can delete this namespace, so a store without it holds no webhook and no policy either. */
async function isNew(client: ResourceClient): Promise<boolean> {
  try {
    await client.get(Namespace, { name: 'kube-system' });
    return false;
  } catch (error) {
    if (isNotFound(error)) return true;
    throw error;
  }
}
