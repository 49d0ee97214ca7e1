// Builds the admin kubeconfig: one cluster, one user with a client certificate, everything inline.
import type { KeyPair } from '@kapstan/controller/certificates';

export interface KubeconfigOptions {
  readonly url: string;
  readonly caCert: string;
  readonly admin: KeyPair;
}

/** Fills in a fixed text, because the first use of the YAML library takes a noticeable part of a start. */
export function formatKubeconfig({ url, caCert, admin }: KubeconfigOptions): string {
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  return `apiVersion: v1
kind: Config
clusters:
  - name: kapstan
    cluster:
      server: ${url}
      certificate-authority-data: ${base64(caCert)}
users:
  - name: kapstan-admin
    user:
      client-certificate-data: ${base64(admin.cert)}
      client-key-data: ${base64(admin.key)}
contexts:
  - name: kapstan
    context:
      cluster: kapstan
      user: kapstan-admin
      namespace: default
current-context: kapstan
preferences: {}
`;
}
