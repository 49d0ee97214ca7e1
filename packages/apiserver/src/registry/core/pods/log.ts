// pods/log. The log itself lies with the pod's kubelet, which this server does not ask: what can be said without it is
// said as Kubernetes does, the rest is refused with 501. Source: pkg/registry/core/pod (LogLocation), ValidatePodLogOptions.
import { type DeepReadonly, isNotFound, newBadRequest, newInvalid, newNotFound, newNotImplemented } from '@kapstan/api';
import type { Pod } from '@kapstan/kinds/core/v1';
import type { BuiltinServer } from '../../builtin-kind.ts';
import type { ByteSubresource } from '../../resource-definition.ts';
import { collectFieldErrors } from '../../validation/field.ts';

interface LogOptions {
  readonly container?: string;
  readonly sinceSeconds?: number;
  readonly sinceTime?: string;
  readonly tailLines?: number;
  readonly limitBytes?: number;
  readonly stream?: string;
}

export function logSubresource(server: Pick<BuiltinServer, 'findStore'>): ByteSubresource<Pod> {
  return {
    type: 'bytes',
    name: 'log',
    verbs: ['get'],
    queryOptions: {
      container: 'string',
      follow: 'boolean',
      insecureSkipTLSVerifyBackend: 'boolean',
      limitBytes: 'integer',
      previous: 'boolean',
      sinceSeconds: 'integer',
      sinceTime: 'time',
      stream: 'string',
      tailLines: 'integer',
      timestamps: 'boolean',
    },
    get: async (store, context, { name, options }) => {
      requireValid(name, options as LogOptions);
      const pod = (await store.get(context, name)).object;
      requireContainer(pod, options as LogOptions);
      const node = pod.spec?.nodeName ?? '';
      if (node === '') return undefined;
      const nodes = server.findStore('', 'v1', 'nodes');
      // The node is looked for in the scope of the request, so that Kubernetes' 404 speaks of pods.
      if (nodes === undefined) throw newNotFound({ group: '', resource: 'pods' }, node);
      await nodes.get({ ...context, namespace: '' }, node).catch((error: unknown) => {
        throw isNotFound(error) ? newNotFound({ group: '', resource: 'pods' }, node) : error;
      });
      throw newNotImplemented('pods/log is not served here: this server does not talk to nodes');
    },
  };
}

/** Throws 422. */
function requireValid(name: string, options: LogOptions): void {
  const { tailLines, limitBytes, sinceSeconds, sinceTime, stream } = options;
  const errors = collectFieldErrors((root) => {
    root.child('tailLines').nonNegative(tailLines);
    if (limitBytes !== undefined && limitBytes < 1) {
      root.child('limitBytes').invalid(limitBytes, 'must be greater than 0');
    }
    if (sinceSeconds !== undefined && sinceTime !== undefined) {
      root.forbidden('at most one of `sinceTime` or `sinceSeconds` may be specified');
    } else if (sinceSeconds !== undefined && sinceSeconds < 1) {
      root.child('sinceSeconds').invalid(sinceSeconds, 'must be greater than 0');
    }
    if (stream !== undefined) root.child('stream').forbidden('may not be specified');
  });
  if (errors.length > 0) throw newInvalid({ group: '', kind: 'PodLogOptions' }, name, errors);
}

/** Throws 400 for a container that the pod does not have, and where it has several and none is named. */
function requireContainer({ metadata, spec }: DeepReadonly<Pod>, { container = '' }: LogOptions): void {
  const pod = metadata?.name ?? '';
  const names = (spec?.containers ?? []).map(({ name }) => name);
  const initNames = (spec?.initContainers ?? []).map(({ name }) => name);
  if (container === '') {
    if (names.length === 1) return;
    if (names.length === 0) throw newBadRequest(`a container name must be specified for pod ${pod}`);
    const init = initNames.length === 0 ? '' : ` or one of the init containers: [${initNames.join(' ')}]`;
    const choice = `choose one of: [${names.join(' ')}]${init}`;
    throw newBadRequest(`a container name must be specified for pod ${pod}, ${choice}`);
  }
  const ephemeral = (spec?.ephemeralContainers ?? []).map(({ name }) => name);
  if ([...names, ...initNames, ...ephemeral].includes(container)) return;
  throw newBadRequest(`container ${container} is not valid for pod ${pod}`);
}
