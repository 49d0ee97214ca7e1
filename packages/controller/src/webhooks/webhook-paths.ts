// The paths of webhooks, as controller-runtime has them. Used by webhook-server.ts and by the configurations that point
// there. Source: controller-runtime builder generateMutatePath, generateValidatePath.
import type { AdmissionHook } from '@kapstan/api/internal';

export const conversionPath = '/convert';

/**
 * Returns "/mutate-demo-dev-v1-echo". A hook with its own name has the name at the end, because only one hook per kind may lack it.
 */
export function pathOf({ type, name, resource, rule }: AdmissionHook): string {
  const { group, version, kind, plural } = resource;
  const verb = type === 'mutating' ? 'mutate' : 'validate';
  const path = `/${verb}-${group.replaceAll('.', '-')}-${version}-${kind.toLowerCase()}`;
  const word = type === 'mutating' ? 'defaults' : 'validates';
  const isPlain = name === `${word}.${plural}.${group || 'core'}` && rule.subresource === '';
  return isPlain ? path : `${path}/${name}`;
}
