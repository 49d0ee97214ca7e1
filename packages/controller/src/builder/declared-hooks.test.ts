import { defineResource, type ResourceClient } from '@kapstan/api';
import { expect, it } from 'vitest';
import { Manager } from '../manager/manager.ts';
import type { ManagerOptions } from '../manager/manager-options.ts';
import { defaultTimes } from '../webhooks/certificate-plan.ts';
import { programHooks } from '../webhooks/program-hooks.ts';
import { pathOf } from '../webhooks/webhook-paths.ts';
import { controller } from './controller-builder.ts';

const Echo = defineResource({ group: 'demo.dev', version: 'v1', kind: 'Echo', spec: { type: 'object' } });
const Other = defineResource({ group: 'demo.dev', version: 'v1', kind: 'Other', spec: { type: 'object' } });
const nothing = (): undefined => undefined;
// biome-ignore lint/suspicious/noExplicitAny: callers of JavaScript pass anything
type Anything = any;
const builder = controller(Echo) as Anything;
const both = { to: (object: unknown) => object, from: (object: unknown) => object };

it.each([
  [() => builder.defaults('x'), 'defaults() must be a function'],
  [() => builder.defaults(nothing, { operations: ['DELETE'] }), 'operations takes a list of CREATE, UPDATE'],
  [() => builder.defaults(nothing, { timeoutSeconds: 31 }), 'timeoutSeconds must be a whole number from 1 to 30'],
  [() => builder.defaults(nothing, { failurePolicy: 'fail' }), "failurePolicy must be 'Fail' or 'Ignore'"],
  [() => builder.defaults(nothing, { failurePolcy: 'Fail' }), 'failurePolcy'],
  [() => builder.defaults(nothing, { name: 'short' }), 'has at least three labels'],
  [() => builder.defaults(nothing).defaults(nothing), 'two webhooks are named defaults.echos.demo.dev'],
  [() => builder.validates({}), 'at least one of create, update and delete'],
  [() => builder.validates({ patch: nothing }), 'patch'],
  [() => builder.validates({ create: nothing }, { operations: ['CREATE'] }), 'takes no operations'],
  [() => builder.validates(nothing, { matchConditions: ['x'] }), 'a list of { name, expression }'],
  [() => builder.converts({ v1: both }), "this is the controller's own version"],
  [() => builder.converts({ v1beta1: { to: nothing } }), 'from must be a function'],
  [() => builder.converts({ v1beta1: { ...both, resource: Other } }), 'takes Echo of demo.dev/v1beta1'],
  [() => builder.converts({ v1beta1: both }).converts({ v1beta1: both }), 'is given twice'],
])('refuses a wrong declaration: %s', (declare, message) => {
  expect(declare).toThrow(TypeError);
  expect(declare).toThrow(message);
});

it('has the paths of controller-runtime, and one of its own for each further hook', () => {
  const hooks = programHooks(
    [
      controller(Echo)
        .defaults(nothing)
        .validates(nothing)
        .validates(nothing, { subresource: 'status' })
        .validates(nothing, { name: 'more.echos.demo.dev' })
        .reconcile(async () => undefined),
    ],
    { client: {} as ResourceClient, logger: console as never },
  );
  expect(hooks.admission.map(pathOf)).toEqual([
    '/mutate-demo-dev-v1-echo',
    '/validate-demo-dev-v1-echo',
    '/validate-demo-dev-v1-echo/validates.status.echos.demo.dev',
    '/validate-demo-dev-v1-echo/more.echos.demo.dev',
  ]);
});

const client = { listerWatcher: () => ({ list: nothing, watch: nothing }) } as unknown as ResourceClient;
const program = controller(Echo)
  .defaults(nothing)
  .reconcile(async () => undefined);
const manager = (webhooks: unknown): Manager =>
  new Manager([program], { client, webhooks } as unknown as ManagerOptions);
const service = { name: 'a', namespace: 'b' };

it.each([
  [undefined, 'the option webhooks says how API servers reach this program'],
  [true, 'webhooks: false, or options such as'],
  [{}, 'either service, the Service before this program, or url'],
  [{ service, url: 'https://x' }, 'either service, the Service before this program, or url'],
  [{ url: 'http://x' }, 'webhooks.url is such as'],
  [{ url: 'https://x/path' }, 'webhooks.url is such as'],
  [{ service: { name: 'a' } }, 'namespace'],
  [{ service, port: 70_000 }, 'port must be a whole number from 0 to 65535'],
  [{ service, certificates: { certFile: 'a' } }, 'keyFile'],
  [{ service, certificates: { secrets: {} } }, 'secrets'],
  [{ service, certificates: { times: { servingMs: 1 } } }, 'valid for longer than the time before its end'],
  [{ service, certificates: { times: { overlapMs: defaultTimes.authorityRenewBeforeMs } } }, 'overlapMs must be less'],
])('refuses wrong options of a manager: %j', (webhooks, message) => {
  expect(() => manager(webhooks)).toThrow(TypeError);
  expect(() => manager(webhooks)).toThrow(message);
});

it('takes a manager whose webhooks others serve, and refuses two controllers with the same webhooks', () => {
  expect(() => manager(false)).not.toThrow();
  const twice = [
    program,
    controller(Echo, { name: 'two' })
      .defaults(nothing)
      .reconcile(async () => undefined),
  ];
  expect(() => new Manager(twice, { client, webhooks: false })).toThrow(
    'two controllers declare defaults.echos.demo.dev',
  );
});
