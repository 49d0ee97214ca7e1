import { formatFieldError } from '@kapstan/api/errors';
import { describe, expect, it } from 'vitest';
import { parseEncryptionConfiguration } from './configuration.ts';
import { encryptionConfigurationErrors } from './configuration-rules.ts';

const head = 'apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\n';
const key32 = Buffer.alloc(32, 'k').toString('base64');

/** Returns a configuration with one element that has these providers (one line of YAML each). */
function withProviders(...providers: readonly string[]): string {
  return `${head}resources:\n- resources: [secrets]\n  providers:\n${providers.map((one) => `  - ${one}\n`).join('')}`;
}

function withResources(...resources: readonly string[]): string {
  const list = resources.map((name) => `'${name}'`).join(', ');
  return `${head}resources:\n- resources: [${list}]\n  providers:\n  - identity: {}\n`;
}

function errorsOf(text: string, reloads = false): string[] {
  return encryptionConfigurationErrors(parseEncryptionConfiguration(text), { reloads }).map(formatFieldError);
}

describe('parseEncryptionConfiguration', () => {
  it('reads every provider', () => {
    const text = `${head}resources:
- resources: [secrets, deployments.apps]
  providers:
  - aesgcm: { keys: [{ name: a, secret: ${key32} }, { name: b, secret: ${key32} }] }
  - aescbc: { keys: [{ name: c, secret: ${key32} }] }
  - secretbox: { keys: [{ name: d, secret: ${key32} }] }
  - kms: { apiVersion: v2, name: e, endpoint: unix:///run/kms.sock, timeout: 1m30s }
  - identity: {}
- resources: ['*.*']
  providers: [{ identity: {} }]
`;
    const secret = key32;
    expect(parseEncryptionConfiguration(text).resources).toEqual([
      {
        resources: ['secrets', 'deployments.apps'],
        providers: [
          {
            aesgcm: {
              keys: [
                { name: 'a', secret },
                { name: 'b', secret },
              ],
            },
          },
          { aescbc: { keys: [{ name: 'c', secret }] } },
          { secretbox: { keys: [{ name: 'd', secret }] } },
          { kms: { apiVersion: 'v2', name: 'e', endpoint: 'unix:///run/kms.sock', timeoutMs: 90_000 } },
          { identity: {} },
        ],
      },
      { resources: ['*.*'], providers: [{ identity: {} }] },
    ]);
    expect(errorsOf(text)).toEqual([]);
  });

  it('reads JSON, and the kind that the documentation once had', () => {
    const config = { apiVersion: 'v1', kind: 'EncryptionConfig', resources: [] };
    expect(parseEncryptionConfiguration(JSON.stringify(config)).resources).toEqual([]);
  });

  it('has the defaults of Kubernetes for a key service: v1, three seconds, a cache of 1000', () => {
    const { resources } = parseEncryptionConfiguration(withProviders('kms: { name: a, endpoint: unix:///a }'));
    expect(resources[0]?.providers[0]?.kms).toMatchObject({ apiVersion: 'v1', timeoutMs: 3_000, cachesize: 1_000 });
  });

  it.each([
    ['', 'the configuration must be an object'],
    ['[]', 'the configuration must be an object'],
    ['apiVersion: v1', "Object 'Kind' is missing"],
    ['kind: EncryptionConfiguration', "Object 'apiVersion' is missing"],
    [
      'apiVersion: apiserver.config.k8s.io/v1beta1\nkind: EncryptionConfiguration',
      'no kind "EncryptionConfiguration" is registered for version "apiserver.config.k8s.io/v1beta1"',
    ],
    [`${head}resources: {}`, 'resources must be a list'],
    [`${head}resources: [secrets]`, 'resources[0] must be an object'],
    [`${head}resources: [{ resources: [1] }]`, 'resources[0].resources[0] must be a string'],
    [withProviders('identity: yes'), 'resources[0].providers[0].identity must be an object'],
    [
      withProviders('aesgcm: { keys: [{ name: 1 }] }'),
      'resources[0].providers[0].aesgcm.keys[0].name must be a string',
    ],
    [withProviders('kms: { cachesize: a }'), 'resources[0].providers[0].kms.cachesize must be an integer'],
    [withProviders('kms: { timeout: 3 }'), 'resources[0].providers[0].kms.timeout must be a duration such as 3s'],
    [withProviders('kms: { timeout: 3 days }'), 'resources[0].providers[0].kms.timeout must be a duration such as 3s'],
    [
      `${head}Resources: []\nresources: [{ foo: 1, resources: [], providers: [{ aesGCM: {} }, { aescbc: { key: [] } }] }]`,
      'strict decoding error: unknown field "resources[0].providers[0].aesGCM", unknown field "resources[0].providers[1].aescbc.key", unknown field "resources[0].foo", unknown field "Resources"',
    ],
    [
      withProviders('identity: { x: 1 }'),
      'strict decoding error: unknown field "resources[0].providers[0].identity.x"',
    ],
    [`${head}kind: EncryptionConfiguration`, 'yaml: line 3: duplicate key'],
  ])('refuses %j', (text, message) => {
    expect(() => parseEncryptionConfiguration(text)).toThrow(new TypeError(message));
  });

  it('shows no key in an error of syntax or of type', () => {
    for (const broken of [
      `${withProviders(`aesgcm: { keys: [{ name: a, secret: ${key32} }] }`)}  ]`,
      withProviders(`aesgcm: { keys: [{ name: a, secret: *${key32} }] }`),
      withProviders(`aesgcm: { keys: [{ name: a, secret: [${key32}] }] }`),
      withProviders(`aesgcm: { keys: ${key32} }`),
      withProviders(`aesgcm: ${key32}`),
      withProviders(`kms: { timeout: ${key32} }`),
      withProviders(`aesgcm: { keys: [{ name: a, secret: "${key32} }] }`),
    ]) {
      let message = '';
      try {
        parseEncryptionConfiguration(broken);
      } catch (error) {
        message = String((error as Error).stack);
      }
      expect(message, broken).toContain('TypeError');
      expect(message).not.toContain(key32.slice(0, 8));
    }
  });
});

describe('encryptionConfigurationErrors', () => {
  const at = 'resources[0].providers[0]';
  const keys = `${at}.aesgcm.keys`;
  const short = Buffer.alloc(31).toString('base64');
  const kms = (fields: string): string => withProviders(`kms: { ${fields} }`);
  const good = 'apiVersion: v2, name: a, endpoint: unix:///a';

  it.each<[string, string, string[]]>([
    ['no resources', head, ['resources: Required value: at least one resources is required']],
    [
      'an element without resources and providers',
      `${head}resources: [{}]`,
      [
        'resources[0].resources: Required value: at least one resources[0].resources is required',
        'resources[0].providers: Required value: at least one resources[0].providers is required',
      ],
    ],
    [
      'no provider in an element',
      withProviders('{}'),
      [
        `${at}: Invalid value: provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity`,
      ],
    ],
    [
      'two providers in an element',
      withProviders(`{ identity: {}, aesgcm: { keys: [{ name: a, secret: ${key32} }] } }`),
      [
        `${at}: Invalid value: more than one provider specified in a single element, should split into different list elements`,
      ],
    ],
    ['no keys', withProviders('aesgcm: {}'), [`${keys}: Required value: at least one keys is required`]],
    [
      'a key without name and secret',
      withProviders('aesgcm: { keys: [{}] }'),
      [
        `${keys}[0].name: Required value: name is a mandatory field for a key`,
        `${keys}[0].secret: Required value: secret is a mandatory field for a key`,
      ],
    ],
    [
      'a secret that is no base64',
      withProviders('aesgcm: { keys: [{ name: a, secret: pass-word }] }'),
      [`${keys}[0].secret: Invalid value: "REDACTED": secrets must be base64 encoded`],
    ],
    [
      'an AES key of a wrong length',
      withProviders(`aesgcm: { keys: [{ name: a, secret: ${short} }] }`),
      [
        `${keys}[0].secret: Invalid value: "REDACTED": secret is not of the expected length, got 31, expected one of [16 24 32]`,
      ],
    ],
    [
      'a secretbox key of 16 bytes',
      withProviders(`secretbox: { keys: [{ name: a, secret: ${Buffer.alloc(16).toString('base64')} }] }`),
      [
        `${at}.secretbox.keys[0].secret: Invalid value: "REDACTED": secret is not of the expected length, got 16, expected one of [32]`,
      ],
    ],
    [
      'a key service without name and endpoint',
      kms('apiVersion: v2'),
      [
        `${at}.kms.name: Required value: name is a mandatory field for a provider`,
        `${at}.kms.endpoint: Invalid value: "": endpoint is a mandatory field for a kms`,
      ],
    ],
    [
      'a name with a colon',
      kms('apiVersion: v2, name: "a:b", endpoint: unix:///a'),
      [`${at}.kms.name: Invalid value: "a:b": invalid KMS provider name a:b, must not contain ':'`],
    ],
    [
      'an endpoint that is no socket',
      kms('apiVersion: v2, name: a, endpoint: "tcp://127.0.0.1:1"'),
      [
        `${at}.kms.endpoint: Invalid value: "tcp://127.0.0.1:1": unsupported scheme "tcp" for KMS provider, only unix is supported`,
      ],
    ],
    [
      'no time',
      kms(`${good}, timeout: 0s`),
      [`${at}.kms.timeout: Invalid value: "0s": timeout should be a positive value`],
    ],
    [
      'a cache in v2',
      kms(`${good}, cachesize: 10`),
      [`${at}.kms.cachesize: Invalid value: 10: cachesize is not supported in v2`],
    ],
    [
      'no cache in v1',
      kms('name: a, endpoint: unix:///a, cachesize: 0'),
      [`${at}.kms.cachesize: Invalid value: 0: cachesize should be a positive value, or negative to disable`],
    ],
    [
      'a version that there is not',
      kms('apiVersion: v3, name: a, endpoint: unix:///a'),
      [
        `${at}.kms.apiVersion: Invalid value: "v3": unsupported apiVersion apiVersion for KMS provider, only v1 and v2 are supported`,
      ],
    ],
    [
      'one name twice',
      withProviders(`kms: { ${good} }`, `kms: { ${good} }`),
      ['resources[0].providers[1].kms.name: Invalid value: "a": duplicate KMS provider name a, names must be unique'],
    ],
  ])('finds %s', (_what, text, errors) => {
    expect(errorsOf(text)).toEqual(errors);
  });

  it('lets v1 use a name twice unless the file is reloaded', () => {
    const v1 = 'name: a, endpoint: unix:///a';
    const text = withProviders(`kms: { ${v1} }`, `kms: { ${v1} }`);
    expect(errorsOf(text)).toEqual([]);
    expect(errorsOf(text, true)).toHaveLength(1);
  });

  const overlap =
    "using overlapping resources such as 'secrets' and '*.' in the same resource list is not allowed as they will be masked";
  const duplicate = 'the same resource cannot be specified multiple times';
  it.each<[readonly string[], readonly string[]]>([
    [['secrets', 'configmaps', 'deployments.apps', '*.batch'], []],
    [['secrets', 'secrets.example.com'], []],
    [['secrets', 'configmaps', 'secrets'], [duplicate]],
    [['secrets', '*.'], [overlap]],
    [['deployments.apps', '*.apps'], [overlap]],
    [['deployments.apps', '*.*'], [overlap]],
    [['*.', '*.apps'], []],
    [
      ['*.apps', '*.apps'],
      [duplicate, overlap],
    ],
  ])('of the list %j says %j', (list, rules) => {
    const shown = JSON.stringify(list);
    expect(errorsOf(withResources(...list))).toEqual(
      rules.map((rule) => `resources[0].resources: Invalid value: ${shown}: ${rule}`),
    );
  });

  it.each([
    ['Secrets', 'resource name should not contain capital letters'],
    ['*', "use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources"],
    ['apiserveripinfo', 'resources which do not have REST API/s cannot be encrypted'],
    ['serviceipallocations', 'resources which do not have REST API/s cannot be encrypted'],
    ['servicenodeportallocations', 'resources which do not have REST API/s cannot be encrypted'],
    [
      'events.events.k8s.io',
      "'*.events.k8s.io' objects are stored using the 'events' API group in etcd. Use 'events' instead in the config file",
    ],
    ['*.extensions', "'extensions' group has been removed and cannot be used for encryption"],
    ['secrets.*', 'encrypting the same resource across groups is not supported'],
  ])('refuses the name %s', (name, rule) => {
    expect(errorsOf(withResources(name))).toEqual([`resources[0].resources[0]: Invalid value: "${name}": ${rule}`]);
  });
});
