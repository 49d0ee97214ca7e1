// Names of resources unknown to Kubernetes and to a node's kernel, such as "example.com/gpu". Source:
// pkg/apis/core/v1/helper IsExtendedResourceName.
import { qualifiedNameErrors } from '@kapstan/api/errors';

export function isExtendedResourceName(name: string): boolean {
  const isNative = !name.includes('/') || name.includes('kubernetes.io/');
  if (isNative || name.startsWith('requests.')) return false;
  return qualifiedNameErrors(`requests.${name}`).length === 0;
}
