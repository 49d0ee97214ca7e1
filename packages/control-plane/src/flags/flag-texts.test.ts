import { describe, expect, it } from 'vitest';
import { flagTexts } from './flag-texts.ts';
import { parseServeFlags, serveFlags } from './serve-flags.ts';
import { fixedFlags } from './unsupported-flags.ts';

function shown(...args: string[]): (name: string) => string | undefined {
  const texts = flagTexts({ ...fixedFlags, ...serveFlags }, { ...parseServeFlags(args) });
  return (name) => texts.get(name);
}

describe('the flags at /flagz', () => {
  // Values of /flagz of kube-apiserver 1.36.3 for flags with the same value.
  it.each([
    ['audit-log-batch-max-wait', '0s'],
    ['audit-webhook-batch-max-wait', '30s'],
    ['audit-webhook-batch-throttle-qps', '10'],
    ['request-timeout', '1m0s'],
    ['event-ttl', '1h0m0s'],
    ['etcd-compaction-interval', '5m0s'],
    ['etcd-servers', '[]'],
    ['etcd-servers-overrides', '[]'],
    ['storage-backend', ''],
    ['feature-gates', ''],
    ['runtime-config', ''],
    ['contention-profiling', 'false'],
    ['watch-cache', 'true'],
    ['secure-port', '6443'],
    ['service-account-lookup', 'true'],
    ['goaway-chance', '0'],
    ['audit-log-path', ''],
    ['anonymous-auth', 'true'],
    ['oidc-issuer-url', ''],
    ['oidc-username-claim', 'sub'],
    ['oidc-signing-algs', '[RS256]'],
    ['authorization-webhook-version', 'v1beta1'],
    ['authorization-webhook-cache-authorized-ttl', '5m0s'],
    ['authorization-webhook-cache-unauthorized-ttl', '30s'],
  ])('show the default of --%s as %j', (name, text) => {
    expect(shown()(name)).toBe(text);
  });

  it.each([
    ['--authorization-mode=RBAC', '[RBAC]'],
    ['--enable-admission-plugins=PodSecurity,ResourceQuota', '[PodSecurity,ResourceQuota]'],
    ['--watch-cache-sizes=pods#5,deployments.apps#0', '[pods#5,deployments.apps#0]'],
    ['--runtime-config=api/beta=true,api/all=false', 'api/all=false,api/beta=true'],
    ['--feature-gates=ComponentStatusz=false,WatchList=true', 'ComponentStatusz=false'],
    ['--service-account-issuer=https://a,b', '[https://a,b]'],
    ['--request-timeout=90s', '1m30s'],
    ['--storage-media-type=application/json', 'application/json'],
  ])('show %s as it was given', (arg, text) => {
    expect(shown(arg)(arg.slice(2, arg.indexOf('=')))).toBe(text);
  });

  it('are all texts of values', () => {
    const texts = [...flagTexts(serveFlags, { ...parseServeFlags([]) }).values()];
    expect(texts.filter((text) => /undefined|NaN|\[object/.test(text))).toEqual([]);
  });

  it('show overrides of etcd, and no password', () => {
    const get = shown(
      '--etcd-servers=https://root:sec@ret@a:1,https://b:2',
      '--etcd-servers-overrides=/events#https://root:secret@c:3;https://d:4',
    );
    expect(get('etcd-servers')).toBe('[https://CLASSIFIED@a:1,https://b:2]');
    expect(get('etcd-servers-overrides')).toBe('[/events#https://CLASSIFIED@c:3;https://d:4]');
  });
});
