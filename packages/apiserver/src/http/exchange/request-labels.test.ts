import { describe, expect, it } from 'vitest';
import { parseRequestInfo, type RequestInfo, type ResourceRequest } from './request-info.ts';
import {
  dryRunOf,
  fieldValidationOf,
  type LabelledRequest,
  scopeOf,
  selectedScopeOf,
  verbOf,
} from './request-labels.ts';

const pods = '/api/v1/namespaces/a/pods';

function request(
  line: string,
  contentType?: string,
): { readonly request: LabelledRequest; readonly info: RequestInfo } {
  const [method = '', url = ''] = line.split(' ');
  const [path = '', query = ''] = url.split('?');
  const parameters = new URLSearchParams(query);
  const header = (name: string) => (name === 'content-type' ? contentType : undefined);
  return {
    request: { method, query: parameters, header },
    info: parseRequestInfo({ method, path, query: parameters }),
  };
}

describe('the verb of a request in metrics', () => {
  it.each([
    [`GET ${pods}/p`, 'GET'],
    [`HEAD ${pods}/p`, 'GET'],
    ['GET /version', 'GET'],
    [`GET ${pods}`, 'LIST'],
    [`HEAD ${pods}`, 'LIST'],
    ['GET /api/v1/pods', 'LIST'],
    [`GET ${pods}?fieldSelector=metadata.name%3Dp`, 'LIST'],
    [`GET ${pods}?blah=asdf&something=else`, 'LIST'],
    [`GET ${pods}?watch=false`, 'LIST'],
    [`GET ${pods}?watch=true`, 'WATCH'],
    [`GET ${pods}/p?watch=true`, 'WATCH'],
    ['GET /api/v1/watch/pods', 'WATCH'],
    [`POST ${pods}`, 'POST'],
    [`PUT ${pods}/p`, 'PUT'],
    ['PUT /apis/apps/v1/namespaces/a/deployments/d/scale', 'PUT'],
    [`PATCH ${pods}/p`, 'PATCH'],
    [`DELETE ${pods}/p`, 'DELETE'],
    [`DELETE ${pods}`, 'DELETE'],
    [`GET ${pods}/p/log`, 'CONNECT'],
    [`POST ${pods}/p/exec?command=sh`, 'CONNECT'],
    [`POST ${pods}/p/portforward`, 'CONNECT'],
    [`OPTIONS ${pods}/p`, 'other'],
    ['notValid /', 'other'],
  ])('%s: %s', (line, verb) => {
    const { request: sent, info } = request(line);
    expect(verbOf(sent, info)).toBe(verb);
  });

  it('distinguishes applies from other patches', () => {
    const { request: sent, info } = request(`PATCH ${pods}/p`, 'application/apply-patch+yaml');
    expect(verbOf(sent, info)).toBe('APPLY');
    const merged = request(`PATCH ${pods}/p`, 'application/merge-patch+json');
    expect(verbOf(merged.request, merged.info)).toBe('PATCH');
  });
});

it.each([
  [`GET ${pods}/p`, 'resource'],
  [`POST ${pods}`, 'resource'],
  ['POST /api/v1/nodes', 'resource'],
  ['GET /api/v1/namespaces/a', 'resource'],
  [`GET ${pods}`, 'namespace'],
  [`GET ${pods}?fieldSelector=metadata.name%3Dp`, 'namespace'],
  ['GET /api/v1/pods', 'cluster'],
  ['GET /api/v1/namespaces', 'cluster'],
  ['GET /healthz', ''],
])('the scope in metrics: %s is of "%s"', (line, scope) => {
  expect(scopeOf(request(line).info)).toBe(scope);
});

it.each([
  ['/api/v1/pods', '', 'cluster'],
  ['/api/v1/pods', 'spec.nodeName=n', 'cluster'],
  [pods, '', 'namespace'],
  ['/api/v1/pods', 'metadata.namespace=a', 'namespace'],
  [`${pods}/p`, '', 'resource'],
  ['/api/v1/pods', 'metadata.name=p', 'resource'],
  [pods, 'metadata.name=p', 'resource'],
])('the scope of what is selected: %s by "%s" is of "%s"', (path, fields, scope) => {
  expect(selectedScopeOf(request(`GET ${path}`).info as ResourceRequest, fields)).toBe(scope);
});

it.each([
  ['', ''],
  ['dryRun=All', 'All'],
  ['dryRun=All&dryRun=All', 'All'],
  ['dryRun=', 'invalid'],
  ['dryRun=Some', 'invalid'],
])('the dry run in metrics: %s is "%s"', (query, label) => {
  expect(dryRunOf(new URLSearchParams(query))).toBe(label);
});

it.each([
  ['', ''],
  ['fieldValidation=', ''],
  ['fieldValidation=Ignore', 'Ignore'],
  ['fieldValidation=Warn', 'Warn'],
  ['fieldValidation=Strict', 'Strict'],
  ['fieldValidation=foo', 'invalid'],
  ['fieldValidation=Strict&fieldValidation=Ignore', 'invalid'],
])('the field validation in metrics: %s is "%s"', (query, label) => {
  expect(fieldValidationOf(new URLSearchParams(query))).toBe(label);
});
