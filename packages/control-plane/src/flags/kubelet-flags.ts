// The kubelet flags of `kapstan serve`, under kube-apiserver's names. Part of serve-flags.ts;
// serve.ts turns them into options.
import { readFile } from 'node:fs/promises';
import { startingWith } from '../lifetime/start-error.ts';
import type { KubeletAccessOptions } from '../options/control-plane-options.ts';
import { durationFlag, type Flag, listFlag, stringFlag } from './flag-set.ts';

export interface KubeletFlags {
  readonly 'kubelet-client-certificate': string;
  readonly 'kubelet-client-key': string;
  readonly 'kubelet-certificate-authority': string;
  readonly 'kubelet-preferred-address-types': readonly string[];
  readonly 'kubelet-timeout': number;
}

export const kubeletFlags: { readonly [K in keyof KubeletFlags]: Flag<KubeletFlags[K]> } = {
  'kubelet-client-certificate': stringFlag(
    'Path to the client certificate to present to kubelets. Requires --kubelet-client-key.',
  ),
  'kubelet-client-key': stringFlag('Path to the private key that matches --kubelet-client-certificate.'),
  'kubelet-certificate-authority': stringFlag(
    'Certificate authority file used to verify kubelets. If not set, any kubelet certificate is accepted.',
  ),
  'kubelet-preferred-address-types': listFlag(
    'Node address types to try when connecting to a kubelet, in order of preference.',
    ['Hostname', 'InternalDNS', 'InternalIP', 'ExternalDNS', 'ExternalIP'],
  ),
  'kubelet-timeout': durationFlag('Timeout for establishing a connection to a kubelet. 0 means 30s.', 5_000),
};

export function kubeletFlagErrors(flags: KubeletFlags): readonly string[] {
  if ((flags['kubelet-client-certificate'] === '') === (flags['kubelet-client-key'] === '')) return [];
  return ['--kubelet-client-certificate and --kubelet-client-key must be specified together'];
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
    clientCert,
    clientKey,
    ca,
  };
}
