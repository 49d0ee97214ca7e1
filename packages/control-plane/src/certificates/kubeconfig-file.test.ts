import { describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { formatKubeconfig } from './kubeconfig-file.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe('the admin kubeconfig', () => {
  it.each(['https://127.0.0.1:6443', 'https://[::1]:6443', 'https://api.example.com:6443'])(
    'for %s is the YAML that the library would write',
    (url) => {
      const text = formatKubeconfig({ url, caCert: 'authority\n', admin: { cert: 'certificate\n', key: 'key\n' } });
      expect(text).toBe(stringify(parse(text)));
      expect(parse(text)).toEqual({
        apiVersion: 'v1',
        kind: 'Config',
        clusters: [{ name: 'kapstan', cluster: { server: url, 'certificate-authority-data': base64('authority\n') } }],
        users: [
          {
            name: 'kapstan-admin',
            user: { 'client-certificate-data': base64('certificate\n'), 'client-key-data': base64('key\n') },
          },
        ],
        contexts: [{ name: 'kapstan', context: { cluster: 'kapstan', user: 'kapstan-admin', namespace: 'default' } }],
        'current-context': 'kapstan',
        preferences: {},
      });
    },
  );
});
