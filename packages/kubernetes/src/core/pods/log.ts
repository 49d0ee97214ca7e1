// pods/log returns the log of a container from its kubelet. Source: pkg/registry/core/pod (LogLocation),
// ValidatePodLogOptions.
import { invalid } from '@kapstan/api/errors';
import type { ByteSubresource } from '@kapstan/apiserver/internal';
import { collectFieldErrors, formatQuery } from '@kapstan/apiserver/internal';
import type { Pod } from '@kapstan/kinds/core/v1';
import type { BuiltinServer } from '../../builtin/builtin-kind.ts';
import { findKubelet } from '../nodes/kubelet-address.ts';
import { chooseContainer } from './container-choice.ts';

interface LogOptions {
  readonly container?: string;
  readonly follow?: boolean;
  readonly insecureSkipTLSVerifyBackend?: boolean;
  readonly previous?: boolean;
  readonly timestamps?: boolean;
  readonly sinceSeconds?: number;
  readonly sinceTime?: string;
  readonly tailLines?: number;
  readonly limitBytes?: number;
  readonly stream?: string;
}

export function logSubresource(server: Pick<BuiltinServer, 'findStore' | 'kubeletAddressTypes'>): ByteSubresource<Pod> {
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
    get: async (store, context, { name, options: asked }) => {
      const options = asked as LogOptions;
      requireValid(name, options);
      const { object: pod } = await store.get(context, name);
      const container = chooseContainer(pod, options.container ?? '');
      const node = pod.spec?.nodeName ?? '';
      if (node === '') return undefined;
      const kubelet = await findKubelet(server, context, { name: node, resource: 'pods' });
      return {
        contentType: 'text/plain',
        from: {
          ...kubelet,
          scheme: 'https',
          path: `/containerLogs/${pod.metadata?.namespace}/${pod.metadata?.name}/${container}`,
          query: queryOf(options),
          peer: options.insecureSkipTLSVerifyBackend === true ? 'unverified-kubelet' : 'kubelet',
        },
      };
    },
  };
}

function queryOf(options: LogOptions): string {
  const flag = (value: boolean | undefined): string | undefined => (value === true ? 'true' : undefined);
  const number = (value: number | undefined): string | undefined => (value === undefined ? undefined : String(value));
  return formatQuery([
    ['follow', flag(options.follow)],
    ['limitBytes', number(options.limitBytes)],
    ['previous', flag(options.previous)],
    ['sinceSeconds', number(options.sinceSeconds)],
    ['sinceTime', options.sinceTime],
    ['tailLines', number(options.tailLines)],
    ['timestamps', flag(options.timestamps)],
  ]);
}

/** Throws 422 for invalid options. */
function requireValid(name: string, options: LogOptions): void {
  const { tailLines, limitBytes, sinceSeconds, sinceTime, stream } = options;
  const errors = collectFieldErrors((root) => {
    root.child('tailLines').nonNegative(tailLines);
    if (limitBytes !== undefined && limitBytes < 1) {
      root.child('limitBytes').invalid(limitBytes, 'must be greater than 0');
    }
    if (sinceSeconds !== undefined && sinceTime !== undefined) {
      // Go prints a path that consists of an empty name so.
      root.child('[]').forbidden('at most one of `sinceTime` or `sinceSeconds` may be specified');
    } else if (sinceSeconds !== undefined && sinceSeconds < 1) {
      root.child('sinceSeconds').invalid(sinceSeconds, 'must be greater than 0');
    }
    if (stream !== undefined) root.child('stream').forbidden('may not be specified');
  });
  if (errors.length > 0) throw invalid({ group: '', kind: 'PodLogOptions' }, name, errors);
}
