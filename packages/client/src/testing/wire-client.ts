// The client of suites that run over every wire: settings that a test does not choose follow the current wire.
import { Client } from '../client.ts';
import type { ClientConfig, ClientOptions } from '../config/client-config.ts';
import { currentWire, wireAuthority } from './wire.ts';

export class WireClient extends Client {
  constructor(config: ClientConfig, options: ClientOptions = {}) {
    super(configOf(config), options === null ? options : { ...optionsOf(), ...options });
  }
}

function configOf(config: ClientConfig): ClientConfig {
  // Tests of wrong configurations pass values that are not one.
  if (typeof config !== 'object' || config === null) return config;
  const ca = wireAuthority();
  const { http2 } = currentWire();
  const hasOwn = config.tls !== undefined && typeof config.tls !== 'object';
  const trusts =
    hasOwn || config.tls?.ca !== undefined || config.tls?.caFile !== undefined || config.tls?.insecureSkipVerify;
  return http2 && ca !== undefined && !trusts ? { ...config, tls: { ...config.tls, ca } } : config;
}

function optionsOf(): ClientOptions {
  const { http2, gzip } = currentWire();
  return { http2, compression: gzip };
}
