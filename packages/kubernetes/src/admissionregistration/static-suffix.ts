// Warns of names reserved for admission configuration from files, in clusters that read such files. Source:
// pkg/apis/admissionregistration/validation WarningsForStaticSuffix.
import type { DeepReadonly, KubernetesObject } from '@kapstan/api';

const suffix = '.static.k8s.io';

export function staticSuffixWarnings({ metadata }: DeepReadonly<KubernetesObject>): readonly string[] {
  if (metadata?.name?.endsWith(suffix) !== true) return [];
  return [
    `metadata.name: names ending with "${suffix}" are reserved for static manifest-based configurations and cannot be managed via the API`,
  ];
}
