// The subresources of a pod that connect to its node (exec, attach, portforward), and proxy, which connects to the pod
// itself. Source: pkg/registry/core/pod (streamLocation, PortForwardLocation, ResourceLocation),
// pkg/registry/core/pod/rest/subresources.go.
import type { DeepReadonly } from '@kapstan/api';
import { badRequest } from '@kapstan/api/errors';
import type { ObjectSubresource, QueryOptions, QueryOptionTypes } from '@kapstan/apiserver/internal';
import { formatQuery, parseNamedPort, parsePort } from '@kapstan/apiserver/internal';
import type { Pod } from '@kapstan/kinds/core/v1';
import type { BuiltinServer } from '../../builtin/builtin-kind.ts';
import { findKubelet } from '../nodes/kubelet-address.ts';
import { requireReachableAddress } from '../nodes/reachable-address.ts';
import { proxySubresource } from '../proxy-subresource.ts';
import { chooseContainer } from './container-choice.ts';

type ConnectServer = Pick<BuiltinServer, 'findStore' | 'kubeletAddressTypes'>;

interface Stream {
  readonly name: 'attach' | 'exec' | 'portforward';
  readonly kind: string;
  readonly queryOptions: QueryOptionTypes;
  /** Returns path and query for the kubelet. Throws 400. */
  readonly target: (pod: DeepReadonly<Pod>, options: QueryOptions) => { readonly path: string; readonly query: string };
}

const streamOptions = {
  container: 'string',
  stdin: 'boolean',
  stdout: 'boolean',
  stderr: 'boolean',
  tty: 'boolean',
} as const satisfies QueryOptionTypes;

const streams: readonly Stream[] = [
  {
    name: 'attach',
    kind: 'PodAttachOptions',
    queryOptions: streamOptions,
    target: (pod, options) => ({ path: containerPath('attach', pod, options), query: streamQuery(options) }),
  },
  {
    name: 'exec',
    kind: 'PodExecOptions',
    queryOptions: { ...streamOptions, command: 'strings' },
    target: (pod, options) => ({ path: containerPath('exec', pod, options), query: streamQuery(options) }),
  },
  {
    name: 'portforward',
    kind: 'PodPortForwardOptions',
    queryOptions: { ports: 'numbers' },
    target: (pod, { ports = [] }) => {
      const port = textsOf(ports).join(',');
      return { path: `/portForward/${pathOf(pod)}`, query: formatQuery([['port', port === '' ? undefined : port]]) };
    },
  },
];

/** Returns exec, attach and portforward. */
export function streamSubresources(server: ConnectServer): ObjectSubresource<Pod>[] {
  return streams.map((stream) => ({
    type: 'object',
    name: stream.name,
    kind: { group: '', version: 'v1', kind: stream.kind },
    verbs: ['create', 'get'],
    connect: {
      methods: ['GET', 'POST'],
      queryOptions: stream.queryOptions,
      takesPath: false,
      // A user with read access only must not run commands by a GET.
      requiredVerb: 'create',
      connect: async (store, context, { name, options }) => {
        const { object: pod } = await store.get(context, name);
        // The container is checked before the node.
        const target = stream.target(pod, options);
        const node = pod.spec?.nodeName ?? '';
        if (node === '') throw badRequest(`pod ${name} does not have a host assigned`);
        const kubelet = await findKubelet(server, context, { name: node, resource: 'pods' });
        return { ...kubelet, ...target, scheme: 'https', peer: 'kubelet', upgrade: 'required' };
      },
    },
  }));
}

export function podProxySubresource(): ObjectSubresource<Pod> {
  return proxySubresource('PodProxyOptions', async (store, context, { name: id, path }) => {
    const named = parseNamedPort(id);
    const invalid = `invalid pod request ${JSON.stringify(id)}`;
    if (named === undefined) throw badRequest(invalid);
    const { object: pod } = await store.get(context, named.name);
    const host = pod.status?.podIPs?.[0]?.ip ?? '';
    requireReachableAddress(host);
    const asked = named.port === '' ? undefined : parsePort(named.port);
    if (named.port !== '' && asked === undefined) throw badRequest(invalid);
    const { scheme } = named;
    const port = asked ?? firstPort(pod) ?? (scheme === 'https' ? 443 : 80);
    return { scheme, host, port, path, peer: 'anyone', upgrade: 'optional' };
  });
}

function firstPort({ spec }: DeepReadonly<Pod>): number | undefined {
  return spec?.containers?.find(({ ports = [] }) => ports.length > 0)?.ports?.[0]?.containerPort;
}

function pathOf({ metadata }: DeepReadonly<Pod>): string {
  return `${metadata?.namespace}/${metadata?.name}`;
}

function containerPath(verb: string, pod: DeepReadonly<Pod>, { container = '' }: QueryOptions): string {
  return `/${verb}/${pathOf(pod)}/${chooseContainer(pod, String(container))}`;
}

/** Returns the query with the kubelet's names. Source: streamParams. */
function streamQuery({ stdin, stdout, stderr, tty, command = [] }: QueryOptions): string {
  const flag = (value: QueryOptions[string]): string | undefined => (value === true ? '1' : undefined);
  return formatQuery([
    ...textsOf(command).map((word) => ['command', word] as const),
    ['error', flag(stderr)],
    ['input', flag(stdin)],
    ['output', flag(stdout)],
    ['tty', flag(tty)],
  ]);
}

function textsOf(value: QueryOptions[string]): readonly string[] {
  return Array.isArray(value) ? value : [];
}
