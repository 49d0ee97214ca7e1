// Warnings about flags of `kapstan serve` that are accepted, as kube-apiserver accepts them, but look like mistakes. Logged by serve.ts.
import { formatGroupResource } from '@kapstan/api/internal';
import { builtinResources, idleRuntimeConfig } from '@kapstan/kubernetes';
import { allowsEverything } from './authorization-flags.ts';
import type { ServeFlags } from './serve-flags.ts';

const alwaysAllowWarning =
  '--authorization-mode=AlwaysAllow: every authenticated user may do everything; requests without credentials are refused';

export function flagWarnings(
  flags: Pick<
    ServeFlags,
    'watch-cache-sizes' | 'etcd-prefix' | 'authorization-mode' | 'authorization-config' | 'runtime-config'
  >,
): readonly string[] {
  const unknown = unknownResources([...flags['watch-cache-sizes'].keys()]);
  return [
    ...unknown.map(
      (resource) =>
        `--watch-cache-sizes: "${resource}" is not a built-in resource; the size takes effect only if it is a custom resource`,
    ),
    ...idleRuntimeConfig(flags['runtime-config']).map((text) => `--runtime-config: ${text}`),
    ...(flags['etcd-prefix'] === '' ? ['--etcd-prefix is empty, so keys begin with the name of their resource'] : []),
    ...(allowsEverything(flags) ? [alwaysAllowWarning] : []),
  ];
}

/** Defines the built-in resources only where some are named, because that takes a noticeable part of a start. */
function unknownResources(named: readonly string[]): readonly string[] {
  if (named.length === 0) return [];
  const known = new Set(builtinResources().map(formatGroupResource));
  return named.filter((resource) => !known.has(resource));
}
