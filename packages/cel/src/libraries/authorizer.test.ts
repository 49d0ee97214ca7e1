import { describe, expect, it } from 'vitest';
import { compile } from '../compile.ts';
import { newExpressions } from '../kubernetes-environment.ts';
import {
  type AuthorizationDecision,
  type AuthorizationRequest,
  CelAuthorizer,
  CelResourceCheck,
} from './authorizer.ts';

const variables = { authorizer: 'kubernetes.authorization.Authorizer' };
const allowed: AuthorizationDecision = { isAllowed: true, reason: 'by rule' };

/** Records the questions, and allows `get`. */
class FakeAuthorizer {
  readonly asked: AuthorizationRequest[] = [];

  authorize(request: AuthorizationRequest): AuthorizationDecision {
    this.asked.push(request);
    return request.verb === 'get' ? allowed : { isAllowed: false, reason: '', error: 'no decision' };
  }
}

function evaluate(text: string, port = new FakeAuthorizer()) {
  const result = compile(text, { declarations: { variables } }).evaluate({ authorizer: new CelAuthorizer(port) });
  return { ...result, asked: port.asked };
}

describe('the authorizer', () => {
  it('is asked about a resource with all that was said of it', () => {
    const { value, asked, cost } = evaluate(
      "authorizer.group('apps').resource('deployments').subresource('scale').namespace('a').name('web')" +
        ".fieldSelector('metadata.name=web').labelSelector('a in (b)').check('get').allowed()",
    );
    expect(value).toBe(true);
    expect(asked).toEqual([
      {
        apiGroup: 'apps',
        resource: 'deployments',
        subresource: 'scale',
        namespace: 'a',
        name: 'web',
        fieldSelector: 'metadata.name=web',
        labelSelector: 'a in (b)',
        verb: 'get',
      },
    ]);
    expect(cost).toBeGreaterThan(350_000);
  });

  it('is asked about a path and about service accounts', () => {
    expect(evaluate("authorizer.path('/healthz').check('get').reason()")).toMatchObject({
      value: 'by rule',
      asked: [{ path: '/healthz', verb: 'get' }],
    });
    expect(evaluate("authorizer.serviceAccount('ns', 'sa').path('/x').check('put').error()")).toMatchObject({
      value: 'no decision',
      asked: [{ path: '/x', verb: 'put', serviceAccount: { namespace: 'ns', name: 'sa' } }],
    });
  });

  it.each([
    ["authorizer.path(' ')", 'path must not be empty'],
    ["authorizer.group('').resource('')", 'resource must not be empty'],
    ["authorizer.serviceAccount('a', 'B')", 'Invalid service account name'],
    ["authorizer.serviceAccount('A', 'b')", 'Invalid service account namespace'],
    ['authorizer == authorizer', 'no such overload'],
  ])('%s fails', (text, error) => {
    expect(evaluate(text).error).toBe(error);
  });

  it('pays for two checks in one evaluation, and not for three', () => {
    const check = "authorizer.path('/a').check('get').allowed()";
    expect(evaluate(`${check} && ${check}`)).toMatchObject({ value: true });
    expect(evaluate(`${check} && ${check} && ${check}`).error).toBe('operation cancelled: actual cost limit exceeded');
  });

  it('asks the same question once', () => {
    const check = "authorizer.path('/a').check('get').allowed()";
    expect(evaluate(`${check} && ${check}`).asked).toHaveLength(1);
  });

  it('waits for answers that come later, where the evaluation may', async () => {
    const port = { authorize: async (): Promise<AuthorizationDecision> => allowed };
    const compiled = compile(
      "authorizer.path('/a').check('get').allowed() && authorizer.path('/b').check('get').allowed()",
      {
        declarations: { variables },
      },
    );
    const authorizer = new CelAuthorizer(port);
    expect(await compiled.evaluateInTurns({ authorizer })).toMatchObject({ value: true });
    const failing = new CelAuthorizer({ authorize: () => Promise.reject(new Error('webhook is down')) });
    const error = compile("authorizer.path('/a').check('get').error()", { declarations: { variables } });
    expect(await error.evaluateInTurns({ authorizer: failing })).toMatchObject({ value: 'webhook is down' });
    expect(() => error.evaluate({ authorizer: new CelAuthorizer(port) })).toThrow('a value comes later');
  });

  it('has the resource of the request as a value of its own', () => {
    const port = new FakeAuthorizer();
    const check = new CelResourceCheck(new CelAuthorizer(port), {
      apiGroup: 'apps',
      resource: 'deployments',
      name: 'web',
    });
    const compiled = compile("r.check('get').allowed() && !r.check('put').errored()", {
      declarations: { variables: { r: 'kubernetes.authorization.ResourceCheck' } },
      environment: newExpressions(),
    });
    expect(compiled.evaluate({ r: check })).toMatchObject({ value: false });
    expect(port.asked[0]).toEqual({ apiGroup: 'apps', resource: 'deployments', name: 'web', verb: 'get' });
  });
});
