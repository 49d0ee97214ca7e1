import { describe, expect, it } from 'vitest';
import { ProjectError, type ProjectOptions, resolveOptions } from './project-options.ts';
import { withWords } from './template-words.ts';

const tooLong = 'a'.repeat(41);

describe('options of a project', () => {
  it('have defaults', () => {
    const all = {
      name: 'a1',
      group: 'example.com',
      kind: 'Greeting',
      test: 'vitest',
      packages: undefined,
      force: false,
    };
    expect(resolveOptions({ name: 'a1' })).toEqual(all);
    expect(resolveOptions({ name: 'a1', packages: undefined })).toEqual(all);
  });

  it.each([
    [{ name: 'a'.repeat(40), group: 'a-1.example.org', kind: 'HTTPRoute2' }],
    [{ name: 'a-b', kind: 'K'.repeat(60) }],
  ])('may be %j', (options) => {
    expect(resolveOptions(options)).toMatchObject(options);
  });

  it.each<[ProjectOptions, string]>([
    [{ name: '' }, 'name "": must consist of'],
    [{ name: '../a' }, 'name "../a": must consist of'],
    [{ name: 'a/b' }, 'name "a/b": must consist of'],
    [{ name: 'A' }, 'name "A": must consist of'],
    [{ name: '1a' }, 'name "1a": must consist of'],
    [{ name: 'a-' }, 'name "a-": must consist of'],
    [{ name: 'a\n' }, 'name "a\\n": must consist of'],
    [{ name: tooLong }, 'at most 40 lower case'],
    [{ name: 'default' }, 'name "default": Kubernetes has a namespace of its own under this name'],
    [{ name: 'kube-public' }, 'name "kube-public": Kubernetes has a namespace of its own under this name'],
    [{ name: 'vitest' }, 'name "vitest": the project uses a package of this name'],
    [{ name: 'a', group: 'apps' }, 'group "apps": must be a lower case DNS name with a dot'],
    [{ name: 'a', group: 'Example.com' }, 'group "Example.com": must be'],
    [{ name: 'a', group: 'a..b' }, 'group "a..b": must be'],
    [{ name: 'a', group: 'demo.k8s.io' }, 'group "demo.k8s.io": is protected'],
    [{ name: 'a', group: 'kubernetes.io' }, 'group "kubernetes.io": is protected'],
    [{ name: 'a', kind: 'greeting' }, 'kind "greeting": must be CamelCase'],
    [{ name: 'a', kind: 'Cron-Tab' }, 'kind "Cron-Tab": must be CamelCase'],
    [{ name: 'a', kind: 'A'.repeat(61) }, 'at most 60 letters'],
    [{ name: 'a', kind: 'Größe' }, 'kind "Größe": must be CamelCase'],
    [{ name: 'a', kind: 'ConfigMap' }, `kind "ConfigMap": the project's sources use this name`],
    [{ name: 'a', test: 'jest' as never }, 'test "jest": must be vitest or node'],
    [{} as never, 'name undefined: must'],
  ])('are refused: %j', (options, message) => {
    expect(() => resolveOptions(options)).toThrow(message);
    expect(() => resolveOptions(options)).toThrow(ProjectError);
  });
});

describe('words of the template', () => {
  const options = { name: 'backups', group: 'example.org', kind: 'HTTPBackup' };

  it('become those of the options, as identifiers and as kubectl knows them', () => {
    const text = 'my-controller of example.com: Greeting, greetingController, kubectl get greeting,GreetingList';
    expect(withWords(text, options)).toBe(
      'backups of example.org: HTTPBackup, httpBackupController, kubectl get httpbackup,HTTPBackupList',
    );
  });

  it.each([
    ['CronTab', 'cronTabController'],
    ['DB', 'dbController'],
    ['X', 'xController'],
    ['Delete', 'deleteController'],
  ])('make identifiers of %s', (kind, identifier) => {
    expect(withWords('greetingController', { ...options, kind })).toBe(identifier);
  });

  it('are replaced once', () => {
    expect(
      withWords('my-controller Greeting', { name: 'greeting', group: 'my-controller.example.com', kind: 'A' }),
    ).toBe('greeting A');
  });
});
