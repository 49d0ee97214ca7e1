// Joins the server to a main API server, which passes requests on to it: whoever the main server says asks is believed,
// and it decides who may do what. An APIService there names the Service behind which this server runs.
import { connect } from '@kapstan/client';
import { type DelegatedAccess, delegatedAccess } from '@kapstan/kubernetes';

/** `kubeconfig`: a file whose user may create token reviews and access reviews on the main server. */
export async function accessFrom(kubeconfig: string): Promise<DelegatedAccess> {
  return delegatedAccess({ client: await connect({ kubeconfig }) });
}
