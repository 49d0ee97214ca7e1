// The texts are those that kube-apiserver 1.36.3 logs at its start.
import { describe, expect, it } from 'vitest';
import { ApiEnablement, idleRuntimeConfig, type RuntimeConfig } from './api-enablement.ts';

/** "a=b,c" as the flag writes it. */
const config = (text: string): RuntimeConfig =>
  new Map(
    text.split(',').map((item) => {
      const [key = '', value = ''] = item.split('=');
      return [key, value];
    }),
  );

const looked: readonly (readonly [shown: string, group: string, version: string, resource: string])[] = [
  ['core', '', 'v1', 'pods'],
  ['deployments', 'apps', 'v1', 'deployments'],
  ['daemonsets', 'apps', 'v1', 'daemonsets'],
  ['autoscaling', 'autoscaling', 'v2', 'horizontalpodautoscalers'],
  ['extensions', 'extensions', 'v1beta1', 'deployments'],
];

/** Returns which of a few resources are on. */
const on = (text: string | undefined): readonly string[] => {
  const enablement = new ApiEnablement(text === undefined ? undefined : config(text));
  return looked
    .filter(([, group, version, resource]) => enablement.isServed({ group, version, resource }))
    .map(([shown]) => shown);
};
const stable = ['core', 'deployments', 'daemonsets', 'autoscaling'];

describe('the built-in APIs', () => {
  it.each<[string | undefined, readonly string[]]>([
    [undefined, stable],
    ['api/all=true', [...stable, 'extensions']],
    ['api/beta=true', [...stable, 'extensions']],
    ['api/alpha=true', stable],
    ['api/ga=true', stable],
    ['api/ga=false,api/beta=true', ['extensions']],
    ['api/all=false,/v1=true', ['core']],
    ['api/all=false,v1=true', ['core']],
    ['api/all=false,api/v1=true', ['core']],
    ['v1=false', ['deployments', 'daemonsets', 'autoscaling']],
    ['api/legacy=false', stable],
    ['api/legacy=nonsense', stable],
    // The more specific pattern counts, whatever the order.
    ['api/ga=true,api/all=false', stable],
    ['apps/v1=false', ['core', 'autoscaling']],
    ['apps/v1=false,api/all=true', ['core', 'autoscaling', 'extensions']],
    ['apps/v1/deployments=false', ['core', 'daemonsets', 'autoscaling']],
    ['apps/v1=true,apps/v1/deployments=false', ['core', 'daemonsets', 'autoscaling']],
    ['apps/v1/deployments=true,apps/v1=false', ['core', 'deployments', 'autoscaling']],
    ['apps/v1/deployments=F', ['core', 'daemonsets', 'autoscaling']],
    ['extensions/v1beta1', [...stable, 'extensions']],
    ['extensions/v1beta1=1', [...stable, 'extensions']],
    ['extensions/v1beta1/deployments=true', [...stable, 'extensions']],
    ['networking.k8s.io/v1beta1=false', stable],
    ['apps/v1/nothing=false', stable],
  ])('with --runtime-config=%s are %j', (text, expected) => {
    expect(on(text)).toEqual(expected);
  });

  it.each([
    ['api/all=false', 'invalid runtime-config with only api/all=false'],
    ['api/all=maybe', 'invalid value api/all=maybe'],
    ['api/ga=', 'invalid value api/ga='],
    ['api/beta=1', 'invalid value api/beta=1'],
    ['foo', 'runtime-config invalid key foo'],
    ['a/b/c/d=true', 'runtime-config invalid key a/b/c/d'],
    ['bar/v1', 'unknown api groups bar/v1'],
    ['nope/v1=true,also.io/v2/x=false', 'unknown api groups also.io/v2,nope/v1'],
    ['apps/v1=perhaps', 'invalid value of apps/v1: perhaps, err: strconv.ParseBool: parsing "perhaps": invalid syntax'],
    ['/v1=no', 'invalid value of /v1: no, err: strconv.ParseBool: parsing "no": invalid syntax'],
    ['apps/v7=true', 'group version apps/v7 that has not been registered'],
    ['/v7=true', 'group version v7 that has not been registered'],
    ['extensions/v1beta9=true', 'group version extensions/v1beta9 that has not been registered'],
    [
      'apps/v1/Deployments=true',
      'invalid key apps/v1/Deployments: group/version/resource and resource is always lowercase plural, not "Deployments"',
    ],
    [
      'networking.k8s.io/v1beta1',
      'group version networking.k8s.io/v1beta1 is not supported by this version of kapstan',
    ],
    [
      'resource.k8s.io/v1beta2/resourceclaims=true',
      'group version resource.k8s.io/v1beta2 is not supported by this version of kapstan',
    ],
  ])('cannot be set by --runtime-config=%s: %s', (text, message) => {
    expect(() => new ApiEnablement(config(text))).toThrow(new TypeError(message));
  });
});

describe('settings of APIs that this server has not', () => {
  it('are told where they change nothing', () => {
    const idle = idleRuntimeConfig(
      config('api/beta=true,api/ga=true,apps/v1/deploymentz=false,apps/v1/deployments=false'),
    );
    expect(idle).toEqual([
      expect.stringMatching(
        /^api\/beta=true has no effect on resources that this server does not have: networking\.k8s\.io\/v1beta1, .*resource\.k8s\.io\/v1beta1/,
      ),
      '"apps/v1/deploymentz" is not a built-in resource',
    ]);
    expect(idleRuntimeConfig(config('api/beta=false'))).toEqual([]);
  });
});
