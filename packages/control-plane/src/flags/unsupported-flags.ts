// Flags of kube-apiserver 1.36 that this server does not support. They are refused by name, so that nobody thinks them misspelled or
// ignored; values that match the server's fixed behaviour are accepted. Read by serve-flags.ts.
import { booleanFlag, type Flag, onlyDefault, stringFlag } from './flag-set.ts';

export const unsupportedFlags: ReadonlySet<string> = new Set([
  'admission-control',
  'allow-metric-labels',
  'allow-metric-labels-manifest',
  'apiserver-count',
  'cert-dir',
  'coordinated-leadership-lease-duration',
  'coordinated-leadership-renew-deadline',
  'coordinated-leadership-retry-period',
  'cors-allowed-origins',
  'debug-socket-path',
  'default-not-ready-toleration-seconds',
  'default-unreachable-toleration-seconds',
  'disabled-metrics',
  'egress-selector-config-file',
  'emulated-version',
  'external-hostname',
  'kubelet-port',
  'kubelet-read-only-port',
  'kubernetes-service-node-port',
  'log-flush-frequency',
  'log-json-info-buffer-size',
  'log-text-info-buffer-size',
  'max-connection-bytes-per-sec',
  'min-compatibility-version',
  'peer-advertise-ip',
  'peer-advertise-port',
  'peer-ca-file',
  'permit-address-sharing',
  'service-account-jwks-uri',
  'service-account-max-token-expiration',
  'service-account-signing-endpoint',
  'service-node-port-range',
  'show-hidden-metrics-for-version',
  'strict-transport-security-directives',
  'tls-cipher-suites',
  'tls-curve-preferences',
  'tls-min-version',
  'tls-sni-cert-key',
  'version',
  'vmodule',
]);

const onlyFalse = onlyDefault(booleanFlag('', false));
const onlyTrue = onlyDefault(booleanFlag('', true));

/** Flags that accept only the value that matches this server's behaviour; kube-apiserver's default may differ. */
export const fixedFlags: Readonly<Record<string, Flag<unknown>>> = {
  'audit-log-compress': onlyFalse,
  'contention-profiling': onlyFalse,
  'disable-http2-serving': onlyFalse,
  'emulation-forward-compatible': onlyFalse,
  'enable-bootstrap-token-auth': onlyFalse,
  'enable-logs-handler': onlyFalse,
  'log-json-split-stream': onlyFalse,
  'log-text-split-stream': onlyFalse,
  'permit-port-sharing': onlyFalse,
  profiling: onlyFalse,
  'runtime-config-emulation-forward-compatible': onlyFalse,
  'service-account-extend-token-expiration': onlyTrue,
  'service-account-lookup': onlyTrue,
  'logging-format': onlyDefault(stringFlag('', 'json')),
};
