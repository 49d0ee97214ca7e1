import { describe, expect, it } from 'vitest';
import { helpText, parseCommandLine, UsageError } from './command-line.ts';
import { defaultOptions } from './project-options.ts';

const parse = (...args: readonly string[]) => parseCommandLine(args, '/work');
const all = { name: 'a', packages: undefined, install: true, ...defaultOptions };

describe('the command line', () => {
  it('needs only a name', () => {
    expect(parse('a')).toEqual(all);
  });

  it('takes flags before and after the name, with a space or "="', () => {
    expect(parse('--kind', 'Backup', 'a', '--group=example.org', '--test=node', '--force', '--no-install')).toEqual({
      ...all,
      kind: 'Backup',
      group: 'example.org',
      test: 'node',
      force: true,
      install: false,
    });
    expect(parse('a', '--packages', '../packed')).toMatchObject({ packages: '/packed' });
  });

  it.each([['--help'], ['-h'], ['a', '--help'], ['--help', '--version']])('asks for help: %s %s', (...args) => {
    expect(parse(...args.filter(Boolean))).toBe('help');
  });

  it('asks for the version', () => {
    expect(parse('--version')).toBe('version');
  });

  it.each([
    [[], 'a NAME is required'],
    [['a', 'b'], 'only one NAME is allowed, found "b" after "a"'],
    [['a', '--nothing'], 'unknown flag: --nothing'],
    [['a', '-k', 'B'], 'unknown flag: -k'],
    [['a', '--constructor'], 'unknown flag: --constructor'],
    [['a', '--kind'], 'flag needs an argument: --kind'],
    [['a', '--kind='], 'flag needs an argument: --kind'],
    [['a', '--packages', '--force'], 'flag needs an argument: --packages'],
    [['a', '--force=yes'], '--force takes no value'],
  ])('refuses %j', (args, message) => {
    expect(() => parse(...args)).toThrow(new UsageError(message));
  });

  it('is explained with the name by which it was called, and all flags', () => {
    const help = helpText('kapstan init');
    expect(help).toContain('  kapstan init NAME [flags]\n');
    for (const flag of ['group', 'kind', 'test', 'packages', 'force', 'no-install', 'help', 'version'])
      expect(help).toContain(`  --${flag} `);
  });
});
