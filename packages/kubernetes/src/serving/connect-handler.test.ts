import { connect } from 'node:net';
import { InProcessClient } from '@kapstan/apiserver';
import type { TestServer } from '@kapstan/apiserver/testing';
import { type KubeletStandIn, selfSigned, startKubelet } from '@kapstan/apiserver/testing';
import { Endpoints, Node, Pod, Service } from '@kapstan/kinds/core/v1';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { builtinResources } from '../builtin-resources.ts';
import { startKubernetesServer } from '../testing/kubernetes-server.ts';

const core = '/api/v1';
const ns = `${core}/namespaces/default`;
const podIp = '10.1.2.3';
let server: TestServer;
let kubelet: KubeletStandIn;
let pod: KubeletStandIn;

/** Addresses of other machines lead here: to the pod and, on separate ports, to the node. */
beforeAll(async () => {
  kubelet = await startKubelet({
    tls: await selfSigned('CN=kubelet'),
    answer: (_request, response) => void response.end('of the kubelet'),
  });
  pod = await startKubelet({ answer: (_request, response) => void response.end('of the pod') });
  const ports = new Map([
    [8080, pod.port],
    [10_250, kubelet.port],
  ]);
  server = await startKubernetesServer(openLmdbEngine, {
    definitions: builtinResources({
      findStore: (...id) => server.catalog.find(...id)?.store,
      lookupHost: async (host) => {
        if (host === 'host-n') return ['10.0.0.1'];
        throw Object.assign(new Error(), { code: 'ENOTFOUND' });
      },
    }),
    dial: ({ port }) => connect(ports.get(port) ?? 1, '127.0.0.1'),
  });
  const client = new InProcessClient({ catalog: server.catalog });
  const node = (name: string, addresses: readonly object[]): Promise<unknown> =>
    client.create(Node, { metadata: { name }, status: { addresses } } as Node);
  await node('n', [
    { type: 'ExternalIP', address: '8.8.8.8' },
    { type: 'Hostname', address: 'host-n' },
  ]);
  await node('local', [{ type: 'InternalIP', address: '127.0.0.1' }]);
  await node('unknown', [{ type: 'Hostname', address: 'nowhere' }]);
  await node('odd', [{ type: 'Odd', address: '10.0.0.2' }]);
  const makePod = async (name: string, spec: object = {}, ip = ''): Promise<void> => {
    const containers = [
      { name: 'c', image: 'i' },
      { name: 'd', image: 'i', ports: [{ containerPort: 8080 }] },
    ];
    const metadata = { name, namespace: 'default' };
    const made = await client.create(Pod, { metadata, spec: { containers, ...spec } } as Pod);
    if (ip !== '') await client.update(Pod, { ...made, status: { podIP: ip } } as Pod, { subresource: 'status' });
  };
  await makePod('waits');
  await makePod('placed', { nodeName: 'n', containers: [{ name: 'only', image: 'i' }] }, podIp);
  await makePod('several', { nodeName: 'n' }, podIp);
  await makePod('lost', { nodeName: 'gone', containers: [{ name: 'only', image: 'i' }] }, '127.0.0.1');
  await makePod('odd', { nodeName: 'odd', containers: [{ name: 'only', image: 'i' }] }, '169.254.1.1');
  const metadata = { name: 's', namespace: 'default' };
  const targetRef = { kind: 'Pod', name: 'several', namespace: 'default' };
  await client.create(Service, {
    metadata,
    spec: {
      ports: [
        { name: 'web', port: 80 },
        { name: 'none', port: 81 },
      ],
    },
  } as Service);
  await client.create(Service, {
    metadata: { ...metadata, name: 'empty' },
    spec: { ports: [{ port: 80 }] },
  } as Service);
  await client.create(Endpoints, {
    metadata,
    subsets: [
      { addresses: [{ ip: '10.9.9.9' }, { ip: '10.9.9.8', targetRef }], ports: [{ name: 'web', port: 1 }] },
      { addresses: [{ ip: podIp, targetRef }], ports: [{ name: 'web', port: 8080 }] },
      {
        addresses: [{ ip: podIp, targetRef: { ...targetRef, namespace: 'other' } }],
        ports: [{ name: 'stolen', port: 8080 }],
      },
    ],
  } as Endpoints);
  await client.create(Endpoints, { metadata: { ...metadata, name: 'empty' } } as Endpoints);
});
afterAll(async () => {
  await server.close();
  await kubelet.close();
  await pod.close();
});

describe('a subresource that leads elsewhere', () => {
  it.each([
    // kubectl sends a POST without a body when a WebSocket is refused.
    ['POST', 'pods/waits/exec?command=ls&container=c', 400, 'pod waits does not have a host assigned'],
    ['GET', 'pods/waits/attach?container=d', 400, 'pod waits does not have a host assigned'],
    ['GET', 'pods/waits/exec', 400, 'a container name must be specified for pod waits, choose one of: [c d]'],
    ['GET', 'pods/several/attach?container=e', 400, 'container e is not valid for pod several'],
    ['POST', 'pods/placed/exec?command=ls', 400, 'Upgrade request required'],
    ['GET', 'pods/placed/portforward?ports=80', 400, 'Upgrade request required'],
    ['GET', 'pods/lost/exec', 404, 'pods "gone" not found'],
    ['GET', 'pods/odd/exec', 500, 'no preferred addresses found; known addresses: [{Odd 10.0.0.2}]'],
    ['POST', 'pods/none/exec', 404, 'pods "none" not found'],
    ['PATCH', 'pods/placed/exec', 405, 'the server does not allow this method on the requested resource'],
    ['GET', 'pods/placed/exec/more', 404, 'the server could not find the requested resource'],
    ['DELETE', 'pods/waits/proxy', 400, 'address not allowed'],
    ['GET', 'pods/lost/proxy/', 400, 'address not allowed'],
    ['GET', 'pods/odd/proxy/', 400, 'address not allowed'],
    ['GET', 'pods/ftp:several:1/proxy/', 400, 'invalid pod request "ftp:several:1"'],
    ['GET', 'pods/several:99999/proxy/', 400, 'invalid pod request "several:99999"'],
    [
      'GET',
      'pods/several:9/proxy/',
      503,
      'error trying to reach service: dial tcp 10.1.2.3:9: connect: connection refused',
    ],
    ['TRACE', 'pods/several/proxy/', 405, 'the server does not allow this method on the requested resource'],
    ['GET', 'services/s/proxy/', 503, 'no endpoints available for service "s"'],
    ['GET', 'services/s:81/proxy/', 503, 'no endpoints available for service "s:81"'],
    ['GET', 'services/s:82/proxy/', 503, 'no service port 82 found for service "s"'],
    ['GET', 'services/s:stolen/proxy/', 503, 'no endpoints available for service "s:stolen"'],
    ['GET', 'services/empty/proxy/', 503, 'no endpoints available for service "empty"'],
    ['GET', 'services/none/proxy/', 404, 'services "none" not found'],
    ['GET', 'services/none:80/proxy/', 404, 'services "none" not found'],
    ['GET', 'services/x:s:80/proxy/', 400, 'invalid service request "x:s:80"'],
  ])('%s %s is refused with %i', async (method, path, status, message) => {
    const answer = await server.send(method, `${ns}/${path}`);
    expect([answer.status, answer.json.message]).toEqual([status, message]);
  });

  it.each([
    ['none/proxy/', 404, 'nodes "none" not found'],
    ['local/proxy/', 400, 'address not allowed'],
    ['unknown/proxy/', 400, 'lookup nowhere: no such host'],
    ['odd/proxy/', 500, 'no preferred addresses found; known addresses: [{Odd 10.0.0.2}]'],
    ['a:b:n:d/proxy/', 400, 'invalid node request "a:b:n:d"'],
    ['n:http/proxy/', 400, 'invalid node request "n:http"'],
  ])('of the node %s is refused with %i', async (path, status, message) => {
    const answer = await server.send('GET', `${core}/nodes/${path}`);
    expect([answer.status, answer.json.message]).toEqual([status, message]);
  });

  it.each([
    [`${ns}/pods/several/proxy/a`, 'of the pod'],
    [`${ns}/pods/placed:8080/proxy/a`, 'of the pod'],
    [`${ns}/pods/https:placed:10250/proxy/a`, 'of the kubelet'],
    [`${ns}/services/s:web/proxy/a`, 'of the pod'],
    [`${ns}/services/http:s:80/proxy/a`, 'of the pod'],
    [`${core}/nodes/n/proxy/a`, 'of the kubelet'],
    [`${core}/nodes/n:10250/proxy/a`, 'of the kubelet'],
    [`${core}/nodes/http:n:8080/proxy/a`, 'of the pod'],
  ])('%s is answered %s', async (path, text) => {
    const answer = await server.send('GET', path);
    expect([answer.status, answer.text]).toEqual([200, text]);
  });
});
