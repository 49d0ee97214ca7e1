// --runtime-config: which built-in APIs clients find. Read by serve-flags.ts; what it means is apiserver's api-enablement.ts.
import { ApiEnablement, type RuntimeConfig } from '@kapstan/kubernetes';
import type { Flag } from './flag-set.ts';

export interface RuntimeConfigFlags {
  readonly 'runtime-config': RuntimeConfig;
}

export const runtimeConfigFlags: { readonly [K in keyof RuntimeConfigFlags]: Flag<RuntimeConfigFlags[K]> } = {
  'runtime-config': {
    parse: (text) => {
      const config = parseRuntimeConfig(text);
      new ApiEnablement(config);
      return config;
    },
    default: new Map(),
    help: 'Built-in APIs on or off: group/version=false, group/version/resource=false, v1=false, and api/all, api/ga, api/beta, api/alpha.',
    shown: '',
    separator: ',',
  },
};

/** "a=b,c": of two settings of one key the last counts; without "=" the value is "". Source: component-base ConfigurationMap. */
function parseRuntimeConfig(text: string): RuntimeConfig {
  const config = new Map<string, string>();
  for (const item of text.split(',')) {
    if (item === '') continue;
    const at = item.indexOf('=');
    const [key, value] = at < 0 ? [item, ''] : [item.slice(0, at), item.slice(at + 1)];
    config.set(key.trim(), value.trim());
  }
  return config;
}
