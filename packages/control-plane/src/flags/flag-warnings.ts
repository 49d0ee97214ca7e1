// What is odd about the flags of `kapstan serve`, though kube-apiserver takes it, and so does this server. Logged by serve.ts.
import { formatGroupResource } from '@kapstan/api/internal';
import { builtinResources, idleRuntimeConfig } from '@kapstan/kubernetes';
import type { ServeFlags } from './serve-flags.ts';

const alwaysAllowWarning =
  '--authorization-mode=AlwaysAllow: whoever can log in may do everything; requests without credentials are refused';

export function flagWarnings(
  flags: Pick<ServeFlags, 'watch-cache-sizes' | 'etcd-prefix' | 'authorization-mode' | 'runtime-config'>,
): readonly string[] {
  const known = new Set(builtinResources().map(formatGroupResource));
  const unknown = [...flags['watch-cache-sizes'].keys()].filter((resource) => !known.has(resource));
  return [
    ...unknown.map((resource) => `--watch-cache-sizes: "${resource}" is no built-in resource; is it a custom one?`),
    ...idleRuntimeConfig(flags['runtime-config']).map((text) => `--runtime-config: ${text}`),
    ...(flags['etcd-prefix'] === '' ? ['--etcd-prefix is empty: keys begin with their resource'] : []),
    ...(flags['authorization-mode'].includes('AlwaysAllow') ? [alwaysAllowWarning] : []),
  ];
}
