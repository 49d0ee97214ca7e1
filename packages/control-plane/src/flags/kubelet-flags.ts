// The flags of `kapstan serve` about the kubelets that it leads requests on to, under kube-apiserver's names. Part of serve-flags.ts;
// serve.ts makes options of them.
import { readFile } from 'node:fs/promises';
import type { KubeletAccessOptions } from '../control-plane-options.ts';
import { startingWith } from '../start-error.ts';
import { durationFlag, type Flag, listFlag, stringFlag } from './flag-set.ts';

export interface KubeletFlags {
  readonly 'kubelet-client-certificate': string;
  readonly 'kubelet-client-key': string;
  readonly 'kubelet-certificate-authority': string;
  readonly 'kubelet-preferred-address-types': readonly string[];
  readonly 'kubelet-timeout': number;
}

export const kubeletFlags: { readonly [K in keyof KubeletFlags]: Flag<KubeletFlags[K]> } = {
  'kubelet-client-certificate': stringFlag('Certificate that kubelets are shown. Needs --kubelet-client-key.'),
  'kubelet-client-key': stringFlag('Key of --kubelet-client-certificate.'),
  'kubelet-certificate-authority': stringFlag('Certificates that sign those of kubelets. Without it any will do.'),
  'kubelet-preferred-address-types': listFlag(
    'Types of node addresses under which a kubelet is looked for, the best first.',
    ['Hostname', 'InternalDNS', 'InternalIP', 'ExternalDNS', 'ExternalIP'],
  ),
  'kubelet-timeout': durationFlag('Longest time until a connection to a kubelet stands; 0 = 30s.', 5_000),
};

export function kubeletFlagErrors(flags: KubeletFlags): readonly string[] {
  if ((flags['kubelet-client-certificate'] === '') === (flags['kubelet-client-key'] === '')) return [];
  return ['--kubelet-client-certificate and --kubelet-client-key must be given together'];
}

/** Reads the files; rejects when one cannot be read. */
export async function kubeletOptions(flags: KubeletFlags): Promise<KubeletAccessOptions> {
  const read = async (name: keyof KubeletFlags): Promise<string | undefined> => {
    const file = String(flags[name]);
    return file === '' ? undefined : await startingWith(`--${name}`, () => readFile(file, 'utf8'));
  };
  const clientCert = await read('kubelet-client-certificate');
  const clientKey = await read('kubelet-client-key');
  const ca = await read('kubelet-certificate-authority');
  return {
    addressTypes: flags['kubelet-preferred-address-types'],
    timeoutMs: flags['kubelet-timeout'],
    ...(clientCert !== undefined && { clientCert }),
    ...(clientKey !== undefined && { clientKey }),
    ...(ca !== undefined && { ca }),
  };
}
