import { describe, expect, it } from 'vitest';
import { isLongRunning, parseRequestInfo, type ResourceRequest } from './request-info.ts';

function parse(method: string, url: string, longSubresources?: ReadonlySet<string>) {
  const [path = '', query = ''] = url.split('?');
  return parseRequestInfo({ method, path, query: new URLSearchParams(query) }, longSubresources);
}

type Expected = Partial<Omit<ResourceRequest, 'parts'>>;
const resources: readonly [string, string, Expected][] = [
  ['GET', '/api/v1/namespaces', { verb: 'list', resource: 'namespaces', namespace: '', name: '' }],
  ['GET', '/api/v1/namespaces/a', { verb: 'get', resource: 'namespaces', namespace: 'a', name: 'a' }],
  ['PUT', '/api/v1/namespaces/a/status', { verb: 'update', resource: 'namespaces', name: 'a', subresource: 'status' }],
  ['PUT', '/api/v1/namespaces/a/finalize', { resource: 'namespaces', name: 'a', subresource: 'finalize' }],
  ['GET', '/api/v1/namespaces/a/pods', { verb: 'list', resource: 'pods', namespace: 'a', isNamespacedPath: true }],
  ['GET', '/api/v1/namespaces/a/pods/b', { verb: 'get', resource: 'pods', namespace: 'a', name: 'b' }],
  ['HEAD', '/api/v1/namespaces/a/pods/b', { verb: 'get' }],
  ['GET', '/api/v1/namespaces/a/pods/b/log', { resource: 'pods', name: 'b', subresource: 'log' }],
  ['POST', '/api/v1/pods', { verb: 'create', namespace: '', isNamespacedPath: false }],
  ['PATCH', '/apis/apps/v1/namespaces/a/deployments/d', { verb: 'patch', group: 'apps', version: 'v1', name: 'd' }],
  ['DELETE', '/apis/apps/v1/namespaces/a/deployments/d', { verb: 'delete' }],
  ['DELETE', '/apis/apps/v1/namespaces/a/deployments', { verb: 'deletecollection', name: '' }],
  ['DELETE', '/api/v1/configmaps?fieldSelector=metadata.name%3Dx', { verb: 'deletecollection', name: '' }],
  ['GET', '/api/v1/pods?fieldSelector=a%3Db&labelSelector=c', { fieldSelector: 'a=b', labelSelector: 'c' }],
  ['GET', '/api/v1/pods?labelSelector=c&labelSelector=d&watch=1', { fieldSelector: '', labelSelector: 'c' }],
  ['DELETE', '/api/v1/pods?labelSelector=%21', { fieldSelector: '', labelSelector: '!' }],
  ['GET', '/api/v1/pods/a?fieldSelector=a%3Db&labelSelector=c', { fieldSelector: '', labelSelector: '' }],
  ['DELETE', '/api/v1/pods/a?labelSelector=c', { labelSelector: '' }],
  ['GET', '/api/v1/watch/pods?fieldSelector=a%3Db&labelSelector=c', { fieldSelector: '', labelSelector: '' }],
  ['OPTIONS', '/api/v1/nodes', { verb: '', resource: 'nodes' }],
  ['GET', '/api/v1/pods?watch=true', { verb: 'watch' }],
  ['GET', '/api/v1/pods?watch', { verb: 'watch' }],
  ['GET', '/api/v1/pods?watch=maybe', { verb: 'watch' }],
  ['GET', '/api/v1/pods?watch=False', { verb: 'list' }],
  ['GET', '/api/v1/pods?watch=0', { verb: 'list' }],
  ['GET', '/api/v1/namespaces/a/pods/b?watch=1', { verb: 'get', name: 'b' }],
  ['GET', '/api/v1/watch/pods', { verb: 'watch', resource: 'pods', isWatchPath: true }],
  ['GET', '/api/v1/watch/namespaces/a/pods/b', { verb: 'watch', namespace: 'a', name: 'b', isWatchPath: true }],
  ['GET', '/api/v1/pods?fieldSelector=metadata.name%3Dx', { verb: 'list', name: 'x' }],
  ['GET', '/api/v1/pods?fieldSelector=metadata.name%3Da/b', { verb: 'list', name: '' }],
  ['GET', '/api/v1/pods?fieldSelector=broken', { verb: 'list', name: '' }],
  ['GET', '/apis/apps/v1/deployments/', { verb: 'list', resource: 'deployments' }],
];

describe('parseRequestInfo', () => {
  it.each(resources)('reads %s %s', (method, url, expected) => {
    expect(parse(method, url)).toMatchObject({ type: 'resource', ...expected });
  });

  it.each(['/', '/api', '/api/v1', '/apis', '/apis/apps', '/apis/apps/v1', '/healthz', '/apix/v1/pods/a'])(
    'takes %s for a path',
    (path) => {
      expect(parse('GET', path)).toEqual({ type: 'path', verb: 'get', path });
    },
  );

  it('refuses a special verb without a resource', () => {
    expect(() => parse('GET', '/api/v1/watch/')).toThrow('unable to determine kind and namespace from url');
  });
});

it('reads a path of a million slashes in one go', () => {
  // Code that scans a run again from each of its positions would take minutes.
  const path = `/a${'/'.repeat(1_000_000)}b`;
  expect(parse('GET', path)).toMatchObject({ type: 'path', path });
});

describe('isLongRunning', () => {
  it.each([
    ['/api/v1/pods?watch=1', true],
    ['/api/v1/namespaces/a/pods/b/exec', true],
    ['/api/v1/namespaces/a/pods/b/log', false],
    ['/api/v1/pods', false],
    ['/healthz', false],
  ])('%s: %s', (url, expected) => {
    expect(isLongRunning(parse('GET', url, new Set(['exec'])))).toBe(expected);
  });
});
