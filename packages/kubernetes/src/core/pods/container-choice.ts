// Chooses the container of a pod for logs, exec and attach. Source: pkg/registry/core/pod (validateContainer).
import type { DeepReadonly } from '@kapstan/api';
import { badRequest } from '@kapstan/api/errors';
import type { Pod } from '@kapstan/kinds/core/v1';

/** Throws 400 for a container that the pod does not have, and when several exist but none is named. */
export function chooseContainer({ metadata, spec }: DeepReadonly<Pod>, asked: string): string {
  const pod = metadata?.name ?? '';
  const containers = spec?.containers ?? [];
  const all = [...(spec?.initContainers ?? []), ...containers, ...(spec?.ephemeralContainers ?? [])];
  const names = all.map(({ name }) => name);
  if (asked !== '') {
    if (names.includes(asked)) return asked;
    throw badRequest(`container ${asked} is not valid for pod ${pod}`);
  }
  const [only, ...others] = containers;
  if (only === undefined) throw badRequest(`a container name must be specified for pod ${pod}`);
  if (others.length === 0) return only.name;
  throw badRequest(`a container name must be specified for pod ${pod}, choose one of: [${names.join(' ')}]`);
}
