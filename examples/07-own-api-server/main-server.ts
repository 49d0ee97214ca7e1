// Joins the server to a main API server, which passes requests on to it: this server trusts the main server's statement
// of who sent a request, and asks it for the access decision. An APIService there names the Service behind which this
// server runs.
import { connect } from '@kapstan/client';
import { type DelegatedAccess, delegatedAccess } from '@kapstan/kubernetes';

/** `kubeconfig`: a file whose user may create token reviews and access reviews on the main server. */
export async function accessFrom(kubeconfig: string): Promise<DelegatedAccess> {
  return delegatedAccess({ client: await connect({ kubeconfig }) });
}
