import { describe, expect, it } from 'vitest';
import { parseServeFlags, serveFlags } from './serve-flags.ts';
import { fixedFlags, unsupportedFlags } from './unsupported-flags.ts';

/** From kube-apiserver's help, plus its deprecated and hidden flags. */
const kubeApiserver = `
admission-control admission-control-config-file advertise-address aggregator-reject-forwarding-redirect
allow-metric-labels allow-metric-labels-manifest allow-privileged anonymous-auth api-audiences apiserver-count
audit-log-batch-buffer-size audit-log-batch-max-size audit-log-batch-max-wait audit-log-batch-throttle-burst
audit-log-batch-throttle-enable audit-log-batch-throttle-qps audit-log-compress audit-log-format
audit-log-maxage audit-log-maxbackup audit-log-maxsize audit-log-mode audit-log-path
audit-log-truncate-enabled audit-log-truncate-max-batch-size audit-log-truncate-max-event-size
audit-log-version audit-policy-file audit-webhook-batch-buffer-size audit-webhook-batch-max-size
audit-webhook-batch-max-wait audit-webhook-batch-throttle-burst audit-webhook-batch-throttle-enable
audit-webhook-batch-throttle-qps audit-webhook-config-file audit-webhook-initial-backoff audit-webhook-mode
audit-webhook-truncate-enabled audit-webhook-truncate-max-batch-size audit-webhook-truncate-max-event-size
audit-webhook-version authentication-config authentication-token-webhook-cache-ttl
authentication-token-webhook-config-file authentication-token-webhook-version authorization-config
authorization-mode authorization-policy-file authorization-webhook-cache-authorized-ttl
authorization-webhook-cache-unauthorized-ttl authorization-webhook-config-file authorization-webhook-version
bind-address cert-dir client-ca-file contention-profiling coordinated-leadership-lease-duration
coordinated-leadership-renew-deadline coordinated-leadership-retry-period cors-allowed-origins
debug-socket-path default-not-ready-toleration-seconds default-unreachable-toleration-seconds
default-watch-cache-size delete-collection-workers disable-admission-plugins disable-http2-serving
disabled-metrics egress-selector-config-file emulated-version emulation-forward-compatible
enable-admission-plugins enable-aggregator-routing enable-bootstrap-token-auth enable-garbage-collector
enable-logs-handler enable-priority-and-fairness encryption-provider-config
encryption-provider-config-automatic-reload endpoint-reconciler-type etcd-cafile etcd-certfile
etcd-compaction-interval etcd-count-metric-poll-period etcd-db-metric-poll-interval etcd-healthcheck-timeout
etcd-keyfile etcd-prefix etcd-readycheck-timeout etcd-servers etcd-servers-overrides event-ttl
external-hostname feature-gates goaway-chance http2-max-streams-per-connection kubelet-certificate-authority
kubelet-client-certificate kubelet-client-key kubelet-port kubelet-preferred-address-types
kubelet-read-only-port kubelet-timeout kubernetes-service-node-port lease-reuse-duration-seconds
livez-grace-period log-flush-frequency log-json-info-buffer-size log-json-split-stream
log-text-info-buffer-size log-text-split-stream logging-format max-connection-bytes-per-sec
max-mutating-requests-inflight max-requests-inflight min-compatibility-version min-request-timeout
oidc-ca-file oidc-client-id oidc-groups-claim oidc-groups-prefix oidc-issuer-url oidc-required-claim
oidc-signing-algs oidc-username-claim oidc-username-prefix peer-advertise-ip peer-advertise-port peer-ca-file
permit-address-sharing permit-port-sharing profiling proxy-client-cert-file proxy-client-key-file
request-timeout requestheader-allowed-names requestheader-client-ca-file requestheader-extra-headers-prefix
requestheader-group-headers requestheader-uid-headers requestheader-username-headers runtime-config
runtime-config-emulation-forward-compatible secure-port service-account-extend-token-expiration
service-account-issuer service-account-jwks-uri service-account-key-file service-account-lookup
service-account-max-token-expiration service-account-signing-endpoint service-account-signing-key-file
service-cluster-ip-range service-node-port-range show-hidden-metrics-for-version shutdown-delay-duration
shutdown-send-retry-after shutdown-watch-termination-grace-period storage-backend
storage-initialization-timeout storage-media-type strict-transport-security-directives tls-cert-file
tls-cipher-suites tls-curve-preferences tls-min-version tls-private-key-file tls-sni-cert-key token-auth-file
tracing-config-file v version vmodule watch-cache watch-cache-sizes
`
  .trim()
  .split(/\s+/);
/** Flags that kube-apiserver does not have: our own, and kube-controller-manager's. */
const own = [
  'control-loops',
  'data-dir',
  'kubeconfig-out',
  'leader-elect',
  'quota-backend-bytes',
  'leader-elect-lease-duration',
  'leader-elect-renew-deadline',
  'leader-elect-retry-period',
  'ready-file',
  'release-idle-memory',
  'user-watch-buffer-bytes',
  'warn-without-effect',
  'inspect',
  'watch-buffer-bytes',
];
const message = (...args: string[]): string => {
  try {
    parseServeFlags(args);
    return 'taken';
  } catch (error) {
    return (error as Error).message;
  }
};

describe('the flags of kube-apiserver', () => {
  it('are all known, each in one way', () => {
    const ways = [...Object.keys(serveFlags), ...Object.keys(fixedFlags), ...unsupportedFlags];
    expect(ways.sort()).toEqual([...kubeApiserver, ...own].sort());
  });

  it.each([...unsupportedFlags])('--%s is refused by its name, whatever its value', (name) => {
    const refusal = `--${name} is not supported by this version of kapstan`;
    for (const arg of [`--${name}`, `--${name}=`, `--${name}=true`]) expect(message(arg)).toBe(refusal);
  });

  it.each(Object.entries(fixedFlags))(
    '--%s is taken with the value that says what the server does, and no other',
    (name, flag) => {
      expect(message(`--${name}=${flag.default}`)).toBe('taken');
      const other = flag.isBoolean ? String(flag.default !== true) : 'other';
      expect(message(`--${name}=${other}`)).toBe(`--${name} is not supported by this version of kapstan`);
    },
  );

  it.each([
    ['--no-such', 'unknown flag: --no-such'],
    ['--no-such=1', 'unknown flag: --no-such'],
    ['--aggregator-reject-forwarding-redirects', 'unknown flag: --aggregator-reject-forwarding-redirects'],
    ['-x', "unknown shorthand flag: 'x' in -x"],
  ])('are not %s, which Cobra would not know either', (arg, text) => {
    expect(message(arg)).toBe(text);
  });
});
